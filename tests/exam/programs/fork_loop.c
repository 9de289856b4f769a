// Forks a child that ends at once, again and again.
#include "exam.h"

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 1);
    uint64_t operations = 0;
    ready();
    for (; running(); operations++) {
        pid_t child = fork();
        if (child == 0) _exit(0);
        waitpid(child, NULL, 0);
    }
    return done(operations);
}
