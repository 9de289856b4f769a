// Multiplies a sparse matrix (CSR, columns at random) with a vector.
#include "exam.h"

int main(int argc, char **argv) {
    size_t columns = power_of_two(arguments(argc, argv, 256ul << 20, 1) / sizeof(double)), rows = 1 << 17, each = 16;
    double *x = memory(columns * sizeof *x), *values = memory(rows * each * sizeof *values), *y = memory(rows * sizeof *y);
    uint32_t *column = memory(rows * each * sizeof *column);
    uint64_t state = 88172645463325252ull, operations = 0;
    for (size_t i = 0; i < columns; i++) x[i] = i;
    for (size_t i = 0; i < rows * each; i++) values[i] = 1, column[i] = next_random(&state) & (columns - 1);
    ready();
    for (; running(); operations += rows * each)
        for (size_t r = 0; r < rows; r++) {
            double sum = 0;
            for (size_t i = r * each; i < (r + 1) * each; i++) sum += values[i] * x[column[i]];
            y[r] = sum;
        }
    sink = y[rows / 2];
    return done(operations);
}
