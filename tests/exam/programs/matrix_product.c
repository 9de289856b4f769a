// Multiplies two square matrices by the three loops of the textbook: the second is read by columns.
#include "exam.h"
#include <math.h>

int main(int argc, char **argv) {
    size_t n = power_of_two((size_t)sqrt(arguments(argc, argv, 32ul << 20, 1) / sizeof(double)));
    double *a = memory(n * n * sizeof *a), *b = memory(n * n * sizeof *b), *c = memory(n * n * sizeof *c);
    for (size_t i = 0; i < n * n; i++) a[i] = i, b[i] = 1, c[i] = 0;
    uint64_t operations = 0;
    ready();
    for (size_t row = 0; running(); row = (row + 1) % n)
        for (size_t j = 0; j < n; j++, operations += n) {
            double sum = 0;
            for (size_t k = 0; k < n; k++) sum += a[row * n + k] * b[k * n + j];
            c[row * n + j] = sum;
        }
    sink = c[n];
    return done(operations);
}
