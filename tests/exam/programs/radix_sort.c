// Sorts random numbers by their bytes, least significant first.
#include "exam.h"

int main(int argc, char **argv) {
    size_t n = arguments(argc, argv, 64ul << 20, 1) / sizeof(uint32_t);
    uint32_t *from = memory(n * sizeof *from), *to = memory(n * sizeof *to);
    uint64_t state = 88172645463325252ull, operations = 0;
    for (size_t i = 0; i < n; i++) from[i] = next_random(&state);
    ready();
    // A pass scatters by one byte; the next byte's order is random again, so it may go on for ever.
    for (int shift = 0; running(); operations += n, shift = (shift + 8) % 32) {
        size_t start[257] = {0};
        for (size_t i = 0; i < n; i++) start[(from[i] >> shift & 255) + 1]++;
        for (int b = 0; b < 256; b++) start[b + 1] += start[b];
        for (size_t i = 0; i < n; i++) to[start[from[i] >> shift & 255]++] = from[i];
        uint32_t *t = from;
        from = to, to = t;
    }
    sink = from[n / 2];
    return done(operations);
}
