// Threads put numbers into one bounded queue without a lock and take them out again (each cell has its turn's number).
#include "exam.h"
#include <stdatomic.h>

enum { CELLS = 1024 };
struct cell {
    _Atomic uint64_t turn;
    uint64_t value;
};
static struct cell *cells;
static _Alignas(64) _Atomic uint64_t head;
static _Alignas(64) _Atomic uint64_t tail;
static _Alignas(64) uint64_t operations;

// The cell of the next place, once it is its turn: `ahead` is 0 for putting and 1 for taking.
static struct cell *claim(_Atomic uint64_t *end, uint64_t ahead, uint64_t *place) {
    for (*place = atomic_load(end);;) {
        struct cell *cell = &cells[*place % CELLS];
        int64_t late = atomic_load(&cell->turn) - *place - ahead;
        if (late == 0 && atomic_compare_exchange_weak(end, place, *place + 1)) return cell;
        if (late < 0) return NULL;
        if (late > 0) *place = atomic_load(end);
    }
}

static void *work(void *unused) {
    (void)unused;
    uint64_t done = 0, place, sum = 0;
    for (struct cell *cell; running();)
        for (int i = 0; i < 1000; i++) {
            if ((cell = claim(&tail, 0, &place))) cell->value = i, atomic_store(&cell->turn, place + 1), done++;
            if ((cell = claim(&head, 1, &place))) sum += cell->value, atomic_store(&cell->turn, place + CELLS);
        }
    __atomic_add_fetch(&operations, done, __ATOMIC_RELAXED);
    sink = sum;
    return NULL;
}

int main(int argc, char **argv) {
    arguments(argc, argv, 0, cpus());
    cells = memory(CELLS * sizeof *cells);
    for (uint64_t i = 0; i < CELLS; i++) atomic_store(&cells[i].turn, i);
    ready();
    run_threads(exam_threads, work);
    return done(operations);
}
