// Looks up random keys in an open hash table that compares 16 control bytes at once, as Abseil's and Rust's tables do. SIZE is that of
// the slots of 32 bytes, a power of two, three quarters of them full.
#include "exam.h"

typedef signed char control __attribute__((vector_size(16)));
struct slot { uint64_t key, value, unused[2]; };

static control *groups;
static slot *slots;
static uint64_t mask;

static inline uint64_t mixed(uint64_t key) {
    key *= 0x9e3779b97f4a7c15ull;
    key = (key ^ key >> 32) * 0xd6e8feb86659fd93ull;
    return key ^ key >> 29;
}

// A bit for each control byte that is equal.
static inline unsigned equal(control group, signed char tag) {
#ifdef __SSE2__
    control wanted = control{} + tag;
    return __builtin_ia32_pmovmskb128((__attribute__((vector_size(16))) char)(group == wanted));
#else
    unsigned found = 0;
    for (int i = 0; i < 16; i++) found |= (unsigned)(group[i] == tag) << i;
    return found;
#endif
}

static slot *find(uint64_t key) {
    uint64_t hash = mixed(key);
    signed char tag = hash & 0x7f;
    for (uint64_t group = hash >> 7 & mask;; group = (group + 1) & mask) {
        control here = groups[group];
        for (unsigned hits = equal(here, tag); hits; hits &= hits - 1) {
            slot *found = &slots[group * 16 + __builtin_ctz(hits)];
            if (found->key == key) return found;
        }
        if (unsigned empty = equal(here, -128)) {
            int at = __builtin_ctz(empty);
            groups[group][at] = tag;
            slots[group * 16 + at].key = key;
            return &slots[group * 16 + at];
        }
    }
}

int main(int argc, char **argv) {
    size_t size = arguments(argc, argv, 256 << 20, 1);
    uint64_t count = power_of_two(size / sizeof(slot)), keys = count / 4 * 3, random = 88172645463325252ull, operations = 0;
    mask = count / 16 - 1;
    groups = (control *)memory(count);
    slots = (slot *)memory(count * sizeof(slot));
    memset(groups, 0x80, count);
    for (uint64_t key = 1; key <= keys; key++) find(key * 11)->value = key;
    ready();
    for (; running(); operations += 1000)
        for (int i = 0; i < 1000; i++) sink += find((next_random(&random) % keys + 1) * 11)->value;
    return done(operations);
}
