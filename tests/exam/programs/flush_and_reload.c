// Loads lines that it flushed from all caches just before.
#include "exam.h"
#include <emmintrin.h>

int main(int argc, char **argv) {
    size_t lines = arguments(argc, argv, 64ul << 10, 1) / 64;
    int flushes = !getenv("EXAM_NO_FLUSH");
    uint64_t *a = memory(lines * 64), operations = 0, sum = 0;
    for (size_t i = 0; i < lines; i++) a[i * 8] = i;
    ready();
    for (; running(); operations += lines)
        for (size_t i = 0; i < lines; i++) {
            if (flushes) _mm_clflush(&a[i * 8]);
            _mm_mfence();
            sum += a[i * 8];
        }
    sink = sum;
    return done(operations);
}
