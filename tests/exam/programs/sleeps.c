// Sleeps.
#include "exam.h"

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 1);
    ready();
    uint64_t operations = 0;
    for (; running(); operations++) usleep(200000);
    return done(operations);
}
