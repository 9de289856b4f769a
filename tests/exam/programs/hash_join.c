// Joins two relations: a hash table of the smaller one, looked up for each row of the larger one.
#include "exam.h"

struct row {
    uint64_t key, value;
};

int main(int argc, char **argv) {
    size_t slots = power_of_two(arguments(argc, argv, 256ul << 20, 1) / sizeof(struct row)), outer = 1 << 20;
    struct row *table = memory(slots * sizeof *table), *rows = memory(outer * sizeof *rows);
    uint64_t state = 88172645463325252ull, operations = 0, sum = 0;
    // Half of the slots are used; a key stands at its hash or in the next free slot.
    for (uint64_t key = 1; key <= slots / 2; key++) {
        size_t at = key * 0x9e3779b97f4a7c15ull >> 20 & (slots - 1);
        while (table[at].key) at = (at + 1) & (slots - 1);
        table[at].key = key, table[at].value = key * 3;
    }
    for (size_t i = 0; i < outer; i++) rows[i].key = 1 + next_random(&state) % (slots / 2), rows[i].value = i;
    ready();
    for (; running(); operations += outer)
        for (size_t i = 0; i < outer; i++) {
            size_t at = rows[i].key * 0x9e3779b97f4a7c15ull >> 20 & (slots - 1);
            while (table[at].key != rows[i].key) at = (at + 1) & (slots - 1);
            sum += table[at].value + rows[i].value;
        }
    sink = sum;
    return done(operations);
}
