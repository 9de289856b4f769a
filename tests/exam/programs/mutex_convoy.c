// Threads queue for one mutex, under which they do nearly all that they do.
#include "exam.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t table[256], operations;

static void *work(void *unused) {
    (void)unused;
    while (running())
        for (int i = 0; i < 20; i++) {
            pthread_mutex_lock(&lock);
            for (int k = 0; k < 256; k++) table[k] = table[k] * 3 + operations;
            operations++;
            pthread_mutex_unlock(&lock);
        }
    return NULL;
}

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 16);
    ready();
    run_threads(exam_threads, work);
    return done(operations);
}
