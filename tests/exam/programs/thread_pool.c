// A server at part of its load: one thread receives requests, eight workers wait on a condition for work.
#include "requests.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int queued;

static void *worker(void *unused) {
    for (;;) {
        pthread_mutex_lock(&mutex);
        while (!queued) pthread_cond_wait(&filled, &mutex);
        queued--;
        pthread_mutex_unlock(&mutex);
        serve();
    }
    return unused;
}

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 1);
    struct sockaddr_in address = {0};
    int s = receiver(&address);
    ready();
    if (!fork()) {
        for (; running(); request(s, &address)) usleep(3000);
        _exit(0);
    }
    pthread_t thread;
    for (int i = 0; i < 8; i++) pthread_create(&thread, NULL, worker, NULL);
    uint64_t operations = 0;
    for (char bytes[64]; running(); operations++) {
        recv(s, bytes, sizeof bytes, 0);
        pthread_mutex_lock(&mutex);
        queued++;
        pthread_mutex_unlock(&mutex);
        pthread_cond_signal(&filled);
        if (clock_seconds(CLOCK_MONOTONIC) + 0.01 > exam_end) break;
    }
    exit(done(operations));
}
