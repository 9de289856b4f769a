// Multiplies two square matrices block by block: what a block needs stays in the first-level cache.
#include "exam.h"
#include <math.h>

enum { BLOCK = 32 };

int main(int argc, char **argv) {
    size_t n = power_of_two((size_t)sqrt(arguments(argc, argv, 2ul << 20, 1) / sizeof(float)));
    float *a = memory(n * n * sizeof *a), *b = memory(n * n * sizeof *b), *c = memory(n * n * sizeof *c);
    for (size_t i = 0; i < n * n; i++) a[i] = i % 7, b[i] = 1, c[i] = 0;
    uint64_t operations = 0;
    ready();
    while (running())
        for (size_t ib = 0; ib < n && running(); ib += BLOCK)
            for (size_t jb = 0; jb < n; jb += BLOCK)
                for (size_t kb = 0; kb < n; kb += BLOCK, operations += BLOCK * BLOCK * BLOCK)
                    for (size_t i = ib; i < ib + BLOCK; i++)
                        for (size_t k = kb; k < kb + BLOCK; k++) {
                            float factor = a[i * n + k];
                            for (size_t j = jb; j < jb + BLOCK; j++) c[i * n + j] += factor * b[k * n + j];
                        }
    sink = c[n];
    return done(operations);
}
