// Maps memory, touches each page once and unmaps it, again and again (EXAM_KEEP: unmaps nothing and touches the same pages).
#include "exam.h"

int main(int argc, char **argv) {
    size_t size = arguments(argc, argv, 16ul << 20, 1);
    int keeps = getenv("EXAM_KEEP") != NULL;
    uint64_t operations = 0;
    char *at = memory(size);
    ready();
    for (; running(); operations += size / 4096) {
        if (!keeps) at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(at, size, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < size; i += 4096) at[i] = 1;
        if (!keeps) munmap(at, size);
    }
    return done(operations);
}
