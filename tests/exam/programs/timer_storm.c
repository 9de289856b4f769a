// Sleeps for a microsecond at a time, with the least slack that the kernel gives.
#include "exam.h"
#include <sys/prctl.h>

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 1);
    prctl(PR_SET_TIMERSLACK, 1);
    struct timespec microsecond = {0, 1000};
    uint64_t operations = 0;
    ready();
    for (; running(); operations++) nanosleep(&microsecond, NULL);
    return done(operations);
}
