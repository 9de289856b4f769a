// Sums elements of a table at random indexes, eight at a time by gathers (AVX2) where the CPU has them. SIZE is that of the table.
#include "exam.h"
#ifdef __x86_64__
#include <immintrin.h>

__attribute__((target("avx2"))) static unsigned vector_sum(const unsigned *table, const unsigned *indexes, size_t count) {
    __m256i sums = _mm256_setzero_si256();
    for (size_t i = 0; i < count; i += 8) {
        __m256i eight = _mm256_loadu_si256((const __m256i *)(indexes + i));
        sums = _mm256_add_epi32(sums, _mm256_i32gather_epi32((const int *)table, eight, 4));
    }
    unsigned each[8], sum = 0;
    _mm256_storeu_si256((__m256i *)each, sums);
    for (int i = 0; i < 8; i++) sum += each[i];
    return sum;
}
#endif

static unsigned scalar_sum(const unsigned *table, const unsigned *indexes, size_t count) {
    unsigned sum = 0;
    for (size_t i = 0; i < count; i++) sum += table[indexes[i]];
    return sum;
}

int main(int argc, char **argv) {
    size_t elements = arguments(argc, argv, 400ul << 20, 1) / sizeof(unsigned), count = 1 << 20;
    unsigned *table = memory(elements * sizeof *table), *indexes = memory(count * sizeof *indexes);
    uint64_t state = 88172645463325252ull, operations = 0;
    for (size_t i = 0; i < elements; i++) table[i] = i * 7;
    for (size_t i = 0; i < count; i++) indexes[i] = next_random(&state) % elements;
    unsigned (*sum)(const unsigned *, const unsigned *, size_t) = scalar_sum;
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) sum = vector_sum;
#endif
    ready();
    for (; running(); operations += count) sink += sum(table, indexes, count);
    return done(operations);
}
