// Looks up random keys in a balanced binary search tree whose nodes lie in no order.
#include "exam.h"

struct node {
    uint64_t key;
    struct node *left, *right;
};

static struct node *nodes;
static size_t count, used;

static struct node *build(uint64_t low, uint64_t high) {
    if (low >= high) return NULL;
    struct node *node = &nodes[used = next_place(used, count)];
    uint64_t middle = low + (high - low) / 2;
    node->key = middle;
    node->left = build(low, middle);
    node->right = build(middle + 1, high);
    return node;
}

static struct node *find(struct node *at, uint64_t key) {
    while (at && at->key != key) at = key < at->key ? at->left : at->right;
    return at;
}

int main(int argc, char **argv) {
    count = power_of_two(arguments(argc, argv, 96ul << 20, 1) / sizeof(struct node));
    nodes = memory(count * sizeof(struct node));
    struct node *root = build(0, count);
    uint64_t state = 88172645463325252ull, operations = 0;
    ready();
    for (; running(); operations += 1000)
        for (int i = 0; i < 1000; i++) sink = (uintptr_t)find(root, next_random(&state) % count);
    return done(operations);
}
