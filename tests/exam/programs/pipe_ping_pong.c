// Two processes send a byte back and forth over two pipes.
#include "exam.h"

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 1);
    int there[2], back[2];
    char byte = 0;
    if (pipe(there) || pipe(back)) return 1;
    pid_t child = fork();
    if (child == 0) {
        close(there[1]);
        while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1) {
        }
        _exit(0);
    }
    uint64_t operations = 0;
    ready();
    for (; running(); operations++)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) return 1;
    close(there[1]);
    waitpid(child, NULL, 0);
    return done(operations);
}
