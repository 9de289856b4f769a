// One thread waits for a child that computes.
#include "exam.h"

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 1);
    ready();
    pid_t child = fork();
    if (child == 0) {
        uint64_t operations = 0, x = 1;
        for (; running(); operations += 100000)
            for (int i = 0; i < 100000; i++) x = (x ^ x >> 29) * 0xff51afd7ed558ccdull;
        sink = x;
        _exit(done(operations) + fflush(stdout));
    }
    waitpid(child, NULL, 0);
    return 0;
}
