// Two threads wake each other by futex, one turn each.
#include "exam.h"
#include <linux/futex.h>
#include <sys/syscall.h>

static uint32_t turn;
static uint64_t operations;

static void *play(void *number) {
    uint32_t mine = (intptr_t)number;
    while (running()) {
        for (uint32_t now; (now = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) != mine && running();) {
            struct timespec second = {1, 0};
            syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, now, &second);
        }
        operations++;
        __atomic_store_n(&turn, !mine, __ATOMIC_RELEASE);
        syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1);
    }
    return NULL;
}

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 2);
    ready();
    run_threads(2, play);
    return done(operations);
}
