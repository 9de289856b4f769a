// Asks poll() without a timeout whether there is something to read, which there never is (EXAM_CALLS: a system call that does nothing).
#include "exam.h"
#include <poll.h>

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 1);
    int ends[2], nothing = getenv("EXAM_CALLS") != NULL;
    if (pipe(ends)) return 1;
    struct pollfd end = {.fd = ends[0], .events = POLLIN};
    uint64_t operations = 0;
    ready();
    for (; running(); operations += 100)
        for (int i = 0; i < 100; i++) sink += nothing ? getppid() : poll(&end, 1, 0);
    return done(operations);
}
