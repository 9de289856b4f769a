// Threads read under a reader-writer lock; one access of a thousand writes.
#include "exam.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static uint64_t value, operations;

static void *work(void *number) {
    uint64_t done = 0, sum = 0, mine = (intptr_t)number;
    for (; running(); done += 1000)
        for (int i = 0; i < 1000; i++) {
            if (i == 500) {
                pthread_rwlock_wrlock(&lock);
                value += mine;
            } else {
                pthread_rwlock_rdlock(&lock);
                sum += value;
            }
            pthread_rwlock_unlock(&lock);
        }
    __atomic_add_fetch(&operations, done, __ATOMIC_RELAXED);
    sink = sum;
    return NULL;
}

int main(int argc, char **argv) {
    arguments(argc, argv, 0, cpus());
    ready();
    run_threads(exam_threads, work);
    return done(operations);
}
