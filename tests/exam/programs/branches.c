// Branches on random numbers in the first-level cache (EXAM_SORTED: on numbers in order, which are easy to predict).
#include "exam.h"

int main(int argc, char **argv) {
    size_t n = arguments(argc, argv, 16ul << 10, 1) / sizeof(uint64_t);
    int sorted = getenv("EXAM_SORTED") != NULL;
    uint64_t *data = memory(n * sizeof *data), state = 88172645463325252ull, operations = 0, odd = 0, even = 0;
    for (size_t i = 0; i < n; i++) data[i] = sorted ? i * (~0ull / n) : next_random(&state) | 1;
    ready();
    for (; running(); operations += 16 * n)
        for (int round = 0; round < 16; round++) {
            // Another factor each round, so that no predictor learns the data by heart.
            uint64_t factor = sorted ? 1 : next_random(&state) | 1;
            for (size_t i = 0; i < n; i++)
                if (data[i] * factor >> 63) {
                    odd += i;
                    // Empty, but it keeps the compiler from doing both sides without a branch.
                    __asm__ volatile("" : "+r"(odd));
                } else {
                    even ^= i;
                    __asm__ volatile("" : "+r"(even));
                }
        }
    sink = odd + even;
    return done(operations);
}
