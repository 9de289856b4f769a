// Requests in datagrams, as a client sends them to the workers of a server, and the work that each of them is.
#ifndef REQUESTS_H
#define REQUESTS_H
#include "exam.h"
#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>

// A bound socket, and its address.
static int receiver(struct sockaddr_in *address) {
    socklen_t length = sizeof *address;
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(s, (struct sockaddr *)address, length) || getsockname(s, (struct sockaddr *)address, &length)) abort();
    return s;
}

static inline void request(int s, struct sockaddr_in *to) { sendto(s, "work", 4, 0, (struct sockaddr *)to, sizeof *to); }

// Two milliseconds of arithmetic.
static inline void serve(void) {
    uint64_t x = 1;
    for (double end = clock_seconds(CLOCK_THREAD_CPUTIME_ID) + 0.002; clock_seconds(CLOCK_THREAD_CPUTIME_ID) < end;)
        for (int i = 0; i < 10000; i++) x = x * 3 + 1;
    sink = x;
}

#endif
