// Divides: each division needs the result of the last.
#include "exam.h"

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 1);
    uint64_t operations = 0, x = 1;
    ready();
    for (; running(); operations += 100000)
        for (int i = 0; i < 100000; i++) x = 0xfedcba9876543210ull / (x | 3) + i;
    sink = x;
    return done(operations);
}
