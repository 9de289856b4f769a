// Smooths a grid: each point becomes the mean of its four neighbours, from one array into another.
#include "exam.h"
#include <math.h>

int main(int argc, char **argv) {
    size_t n = (size_t)sqrt(arguments(argc, argv, 128ul << 20, 1) / sizeof(double));
    double *from = memory(n * n * sizeof *from), *to = memory(n * n * sizeof *to);
    for (size_t i = 0; i < n * n; i++) from[i] = i, to[i] = 0;
    uint64_t operations = 0;
    ready();
    for (; running(); operations += n * n) {
        for (size_t i = 1; i < n - 1; i++)
            for (size_t j = 1; j < n - 1; j++)
                to[i * n + j] = 0.25 * (from[(i - 1) * n + j] + from[(i + 1) * n + j] + from[i * n + j - 1] + from[i * n + j + 1]);
        double *t = from;
        from = to, to = t;
    }
    sink = from[n + 1];
    return done(operations);
}
