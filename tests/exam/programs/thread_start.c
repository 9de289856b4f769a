// Starts a thread and waits for it, again and again (EXAM_NO_THREAD: calls its function).
#include "exam.h"

static uint64_t operations;

static void *once(void *unused) {
    operations++;
    return unused;
}

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 1);
    int calls = getenv("EXAM_NO_THREAD") != NULL;
    ready();
    while (running())
        for (int i = 0; i < (calls ? 1000 : 1); i++) {
            if (calls) once(NULL);
            else run_threads(1, once);
        }
    return done(operations);
}
