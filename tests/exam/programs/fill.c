// Overwrites much memory with memset over and over.
#include "exam.h"

int main(int argc, char **argv) {
    size_t size = arguments(argc, argv, 512ul << 20, 1);
    char *to = memory(size);
    memset(to, 1, size);
    uint64_t operations = 0;
    size_t times = size < (1 << 20) ? (1 << 20) / size : 1;
    ready();
    for (; running(); operations += times * size)
        for (size_t i = 0; i < times; i++) {
            memset(to, i & 1, size);
            __asm__ volatile("" : : "r"(to) : "memory");
        }
    return done(operations);
}
