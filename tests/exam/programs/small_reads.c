// Reads a file of its own, SIZE bytes a call.
#include "exam.h"

int main(int argc, char **argv) {
    size_t size = arguments(argc, argv, 1, 1);
    FILE *file = tmpfile();
    char bytes[65536] = {0};
    if (!file || fwrite(bytes, sizeof bytes, 1, file) != 1 || fflush(file)) return 1;
    uint64_t operations = 0;
    ready();
    for (; running(); operations += sizeof bytes) {
        lseek(fileno(file), 0, SEEK_SET);
        while (read(fileno(file), bytes, size) > 0) {
        }
    }
    return done(operations);
}
