// Each thread counts in a counter of its own, but the counters share a line (EXAM_APART: each has lines of its own).
#include "exam.h"

static volatile uint64_t *counters;
static size_t apart = 1;
static uint64_t operations;

static void *count(void *number) {
    volatile uint64_t *counter = &counters[(intptr_t)number * apart];
    while (running())
        for (int i = 0; i < 10000; i++) ++*counter;
    __atomic_add_fetch(&operations, *counter, __ATOMIC_RELAXED);
    return NULL;
}

int main(int argc, char **argv) {
    arguments(argc, argv, 0, cpus());
    if (getenv("EXAM_APART")) apart = 64;
    counters = memory(1 << 20);
    ready();
    run_threads(exam_threads, count);
    return done(operations);
}
