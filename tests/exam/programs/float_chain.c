// Multiplies and adds in floating point: each step needs the result of the last (EXAM_CHAINS=8: eight beside each other).
#include "exam.h"

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 1);
    double x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    int beside = getenv("EXAM_CHAINS") != NULL;
    uint64_t operations = 0;
    ready();
    for (; running(); operations += 100000)
        if (beside) {
            for (int i = 0; i < 100000 / 8; i++)
                for (int c = 0; c < 8; c++) x[c] = x[c] * 0.999999 + 0.5;
        } else {
            double y = x[0];
            for (int i = 0; i < 100000; i++) y = y * 0.999999 + 0.5;
            x[0] = y;
        }
    for (int c = 0; c < 8; c++) sink += x[c];
    return done(operations);
}
