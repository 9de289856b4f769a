// Sums one number of each page: a column of a matrix whose rows are 4 KiB.
#include "exam.h"

int main(int argc, char **argv) {
    size_t size = arguments(argc, argv, 1ul << 30, 1), rows = size / 4096;
    char *matrix = memory(size);
    for (size_t i = 0; i < size; i += 4096) *(long *)(matrix + i) = i;
    uint64_t operations = 0, sum = 0;
    ready();
    for (size_t column = 0; running(); operations += rows, column = (column + 64) % 4096)
        for (size_t i = 0; i < rows; i++) sum += *(long *)(matrix + i * 4096 + column);
    sink = sum;
    return done(operations);
}
