// A server with epoll that returns what clients send over TCP, and a thread that is 16 clients.
#include "exam.h"
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

enum { CLIENTS = 16 };
static struct sockaddr_in address = {.sin_family = AF_INET};
static uint64_t operations;

static void *clients(void *unused) {
    (void)unused;
    int s[CLIENTS], on = 1;
    char bytes[64] = {0};
    for (int i = 0; i < CLIENTS; i++) {
        s[i] = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(s[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (connect(s[i], (struct sockaddr *)&address, sizeof address)) abort();
    }
    for (; running(); operations += CLIENTS) {
        for (int i = 0; i < CLIENTS; i++) send(s[i], bytes, sizeof bytes, 0);
        for (int i = 0; i < CLIENTS; i++) recv(s[i], bytes, sizeof bytes, MSG_WAITALL);
    }
    exit(done(operations));
}

int main(int argc, char **argv) {
    arguments(argc, argv, 0, 1);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    int listening = socket(AF_INET, SOCK_STREAM, 0), poll = epoll_create1(0);
    if (bind(listening, (struct sockaddr *)&address, length) || listen(listening, CLIENTS) ||
        getsockname(listening, (struct sockaddr *)&address, &length))
        return 1;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listening}, events[CLIENTS];
    epoll_ctl(poll, EPOLL_CTL_ADD, listening, &event);
    ready();
    pthread_t thread;
    pthread_create(&thread, NULL, clients, NULL);
    for (char bytes[64];;) {
        int n = epoll_wait(poll, events, CLIENTS, -1);
        for (int i = 0; i < n; i++) {
            int s = events[i].data.fd;
            if (s == listening) {
                event.data.fd = accept(listening, NULL, NULL);
                epoll_ctl(poll, EPOLL_CTL_ADD, event.data.fd, &event);
            } else {
                ssize_t got = read(s, bytes, sizeof bytes);
                if (got > 0) send(s, bytes, got, 0);
            }
        }
    }
}
