// Threads take turns at a pthread spin lock and do a little under it.
#include "exam.h"

static pthread_spinlock_t lock;
static uint64_t table[64], operations;

static void *work(void *unused) {
    (void)unused;
    while (running())
        for (int i = 0; i < 100; i++) {
            pthread_spin_lock(&lock);
            for (int k = 0; k < 64; k++) table[k] = table[k] * 3 + operations;
            operations++;
            pthread_spin_unlock(&lock);
        }
    return NULL;
}

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 2 * cpus());
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    ready();
    run_threads(exam_threads, work);
    return done(operations);
}
