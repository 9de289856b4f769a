// Walks a linked list whose nodes lie in no order, and sums what they hold.
#include "exam.h"

struct node {
    struct node *next;
    long value, rest[6];
};

int main(int argc, char **argv) {
    size_t size = arguments(argc, argv, 256ul << 20, 1), n = size / sizeof(struct node);
    struct node *nodes = memory(size);
    // A shuffle of Sattolo's kind, for sizes that are no power of two.
    uint32_t *order = malloc(n * sizeof *order);
    uint64_t state = 88172645463325252ull, operations = 0;
    for (size_t i = 0; i < n; i++) order[i] = i;
    for (size_t i = n - 1; i > 0; i--) {
        size_t j = next_random(&state) % i;
        uint32_t t = order[i];
        order[i] = order[j], order[j] = t;
    }
    for (size_t i = 0; i < n; i++) nodes[i].next = &nodes[order[i]], nodes[i].value = i;
    free(order);
    ready();
    long sum = 0;
    for (struct node *at = nodes; running(); operations += 100000)
        for (int i = 0; i < 100000; i++) {
            sum += at->value;
            at = at->next;
        }
    sink = sum;
    return done(operations);
}
