// Four processes that serve requests, of which some get more than others.
#include "requests.h"

enum { WORKERS = 4 };

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 1);
    struct sockaddr_in address[WORKERS] = {0};
    pid_t workers[WORKERS];
    int s = 0;
    for (int i = 0; i < WORKERS; i++) {
        s = receiver(&address[i]);
        if (!(workers[i] = fork()))
            for (char bytes[64];; serve()) recv(s, bytes, sizeof bytes, 0);
    }
    ready();
    uint64_t operations = 0;
    for (; running(); operations++) {
        for (int i = 0; i < WORKERS; i++)
            if (operations % (1 << i) == 0) request(s, &address[i]);
        usleep(3000);
    }
    for (int i = 0; i < WORKERS; i++) kill(workers[i], SIGKILL), waitpid(workers[i], NULL, 0);
    return done(operations);
}
