// Threads allocate and free blocks of mixed sizes, each its own.
#include "exam.h"

static uint64_t operations;

static void *work(void *number) {
    void *blocks[512] = {0};
    uint64_t state = 88172645463325252ull + (intptr_t)number, done = 0;
    for (; running(); done += 1000)
        for (int i = 0; i < 1000; i++) {
            uint64_t random = next_random(&state);
            void **block = &blocks[random % 512];
            free(*block);
            *block = malloc(16 + (random >> 32) % 2000);
            **(char **)block = 1;
        }
    __atomic_add_fetch(&operations, done, __ATOMIC_RELAXED);
    return NULL;
}

int main(int argc, char **argv) {
    arguments(argc, argv, 0, cpus());
    ready();
    run_threads(exam_threads, work);
    return done(operations);
}
