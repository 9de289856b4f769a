// Sorts new random numbers by partitioning, again and again (EXAM_SORTED: numbers that are in order already).
#include "exam.h"

static void sort(uint32_t *a, long n) {
    while (n > 1) {
        uint32_t pivot = a[n / 2];
        long i = 0, j = n - 1;
        while (i <= j) {
            while (a[i] < pivot) i++;
            while (a[j] > pivot) j--;
            if (i <= j) {
                uint32_t t = a[i];
                a[i++] = a[j], a[j--] = t;
            }
        }
        sort(a, j + 1);
        a += i, n -= i;
    }
}

int main(int argc, char **argv) {
    size_t n = arguments(argc, argv, 256ul << 10, 1) / sizeof(uint32_t);
    int sorted = getenv("EXAM_SORTED") != NULL;
    uint32_t *a = memory(n * sizeof *a);
    uint64_t state = 88172645463325252ull, operations = 0;
    ready();
    for (; running(); operations += n) {
        for (size_t i = 0; i < n; i++) a[i] = sorted ? i : next_random(&state);
        sort(a, n);
    }
    sink = a[n / 2];
    return done(operations);
}
