// A thread that computes, and a helper for each other CPU that calls sched_yield until it is done.
#include "exam.h"
#include <sched.h>

static int over;

static void *helper(void *unused) {
    while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) sched_yield();
    return unused;
}

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 1);
    pthread_t threads[256];
    int count = getenv("EXAM_ALONE") ? 0 : cpus() - 1;
    ready();
    for (int i = 0; i < count; i++) pthread_create(&threads[i], NULL, helper, NULL);
    uint64_t operations = 0, x = 1;
    for (; running(); operations += 1000)
        for (int i = 0; i < 1000; i++) {
            x = x * 3 + 1;
            __asm__ volatile("" : "+r"(x));
        }
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    return done(operations);
}
