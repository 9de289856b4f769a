// Copies the same bytes with memcpy over and over.
#include "exam.h"

int main(int argc, char **argv) {
    size_t size = arguments(argc, argv, 256ul << 20, 1);
    char *from = memory(size), *to = memory(size);
    memset(from, 1, size);
    memset(to, 2, size);
    uint64_t operations = 0;
    size_t times = size < (1 << 20) ? (1 << 20) / size : 1;
    ready();
    for (; running(); operations += times * size)
        for (size_t i = 0; i < times; i++) {
            memcpy(to, from, size);
            // The compiler has to believe that it is read.
            __asm__ volatile("" : : "r"(to) : "memory");
        }
    return done(operations);
}
