// Makes a mapping read-only and writable again, over and over.
#include "exam.h"

int main(int argc, char **argv) {
    size_t size = arguments(argc, argv, 64ul << 10, 1);
    char *at = memory(size);
    memset(at, 1, size);
    uint64_t operations = 0;
    ready();
    for (; running(); operations += 200)
        for (int i = 0; i < 100; i++) {
            mprotect(at, size, PROT_READ);
            mprotect(at, size, PROT_READ | PROT_WRITE);
        }
    return done(operations);
}
