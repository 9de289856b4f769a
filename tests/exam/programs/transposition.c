// Transposes a square matrix row by row: it writes a column with each row that it reads.
#include "exam.h"
#include <math.h>

int main(int argc, char **argv) {
    size_t n = power_of_two((size_t)sqrt(arguments(argc, argv, 128ul << 20, 1) / sizeof(double)));
    double *from = memory(n * n * sizeof *from), *to = memory(n * n * sizeof *to);
    uint64_t operations = 0;
    for (size_t i = 0; i < n * n; i++) from[i] = i, to[i] = 0;
    ready();
    for (; running(); operations += n * n)
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) to[j * n + i] = from[i * n + j];
    sink = to[n / 2];
    return done(operations);
}
