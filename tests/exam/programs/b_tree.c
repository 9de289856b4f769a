// Looks up random keys in a B-tree of nodes of 16 keys, scanned from the first.
#include "exam.h"

enum { KEYS = 16 };
static uint64_t (*nodes)[KEYS], next_key;
static size_t count;

// Node k has the children 17 k + 1 to 17 k + 17; keys rise in order.
static void fill(size_t k) {
    if (k >= count) return;
    for (int i = 0; i < KEYS; i++) {
        fill(k * (KEYS + 1) + 1 + i);
        nodes[k][i] = next_key += 2;
    }
    fill(k * (KEYS + 1) + 1 + KEYS);
}

static int find(uint64_t key) {
    for (size_t k = 0; k < count;) {
        int i = 0;
        while (i < KEYS && nodes[k][i] < key) i++;
        if (i < KEYS && nodes[k][i] == key) return 1;
        k = k * (KEYS + 1) + 1 + i;
    }
    return 0;
}

int main(int argc, char **argv) {
    size_t size = arguments(argc, argv, 256ul << 20, 1);
    count = size / sizeof *nodes;
    nodes = memory(size);
    fill(0);
    uint64_t state = 88172645463325252ull, operations = 0, found = 0;
    ready();
    for (; running(); operations += 1000)
        for (int i = 0; i < 1000; i++) found += find(next_random(&state) % next_key);
    sink = found;
    return done(operations);
}
