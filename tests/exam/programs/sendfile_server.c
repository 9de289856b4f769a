// A server that sends a file again and again with sendfile, and its client.
#include "exam.h"
#include <arpa/inet.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

int main(int argc, char **argv) {
    size_t size = arguments(argc, argv, 8 << 20, 1);
    FILE *file = tmpfile();
    if (!file || ftruncate(fileno(file), (off_t)size)) return 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listening, (struct sockaddr *)&address, length) || listen(listening, 1) ||
        getsockname(listening, (struct sockaddr *)&address, &length))
        return 1;
    ready();
    pid_t client = fork();
    if (!client) {
        static char bytes[1 << 16];
        int s = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(s, (struct sockaddr *)&address, length)) abort();
        while (recv(s, bytes, sizeof bytes, 0) > 0) {}
        _exit(0);
    }
    int s = accept(listening, NULL, NULL);
    uint64_t operations = 0;
    for (; running(); operations++)
        for (off_t at = 0; at < (off_t)size;)
            if (sendfile(s, fileno(file), &at, size - (size_t)at) <= 0) return 1;
    kill(client, SIGKILL);
    waitpid(client, NULL, 0);
    return done(operations);
}
