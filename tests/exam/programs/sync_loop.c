// Appends a block to a file and waits until the disk has it, again and again (EXAM_NO_SYNC: does not wait).
#include "exam.h"

int main(int argc, char **argv) {
    size_t size = arguments(argc, argv, 4096, 1);
    int syncs = !getenv("EXAM_NO_SYNC");
    char *bytes = memory(size);
    FILE *file = tmpfile();
    if (!file) return 1;
    uint64_t operations = 0;
    ready();
    for (; running(); operations++) {
        if (pwrite(fileno(file), bytes, size, operations % 1024 * size) < 0) return 1;
        if (syncs) fsync(fileno(file));
    }
    return done(operations);
}
