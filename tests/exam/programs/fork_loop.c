// Forks a child that ends at once, again and again (EXAM_NO_FORK: a call of the kernel in its place).
#include "exam.h"

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 1);
    int forks = !getenv("EXAM_NO_FORK");
    uint64_t operations = 0;
    ready();
    for (; running(); operations++) {
        pid_t child = forks ? fork() : getppid();
        if (child == 0) _exit(0);
        if (forks) waitpid(child, NULL, 0);
    }
    return done(operations);
}
