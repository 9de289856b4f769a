// All threads add to one counter atomically, until a flag says stop (EXAM_APART: each to a counter with lines of its own).
#include "exam.h"

static uint64_t *counters;
static size_t apart;
static volatile int over;

static void *count(void *number) {
    uint64_t *counter = &counters[(intptr_t)number * apart];
    while (!over) __atomic_add_fetch(counter, 1, __ATOMIC_SEQ_CST);
    return NULL;
}

static void *stop(void *unused) {
    (void)unused;
    usleep((useconds_t)(exam_seconds * 1e6));
    over = 1;
    return NULL;
}

int main(int argc, char **argv) {
    arguments(argc, argv, 0, cpus());
    if (getenv("EXAM_APART")) apart = 64;
    counters = memory(1 << 20);
    pthread_t timer;
    ready();
    pthread_create(&timer, NULL, stop, NULL);
    run_threads(exam_threads, count);
    uint64_t operations = 0;
    for (int i = 0; i < (apart ? exam_threads : 1); i++) operations += counters[i * apart];
    return done(operations);
}
