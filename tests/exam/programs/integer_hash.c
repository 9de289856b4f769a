// Mixes integers that fit the registers.
#include "exam.h"

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 1);
    uint64_t operations = 0, a = 1, b = 2, c = 3;
    ready();
    for (; running(); operations += 100000)
        for (int i = 0; i < 100000; i++) {
            a = (a ^ a >> 33) * 0xff51afd7ed558ccdull + c;
            b = (b << 13 | b >> 51) ^ a;
            c += b ^ i;
        }
    sink = a + b + c;
    return done(operations);
}
