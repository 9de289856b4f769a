// Follows a chain of indices through memory, two loads a round as compilers unroll it: each load waits for the last.
#include "exam.h"

int main(int argc, char **argv) {
    size_t lines = power_of_two(arguments(argc, argv, 512ul << 20, 1) / 64);
    uint64_t *a = memory(lines * 64), operations = 0;
    for (size_t i = 0; i < lines; i++) a[i * 8] = next_place(i, lines);
    ready();
    for (uint64_t p = 0; running(); operations += 100000)
        for (int i = 0; i < 50000; i++) {
            p = a[p * 8];
            sink = p;
            p = a[p * 8];
            sink = p;
        }
    return done(operations);
}
