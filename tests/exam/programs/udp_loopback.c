// Sends datagrams to itself over the loopback device (SIZE: bytes of one).
#include "exam.h"
#include <arpa/inet.h>
#include <sys/socket.h>

int main(int argc, char **argv) {
    size_t size = arguments(argc, argv, 64, 1);
    char bytes[65536] = {0};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int s = socket(AF_INET, SOCK_DGRAM, 0);
    if (bind(s, (struct sockaddr *)&address, length) || getsockname(s, (struct sockaddr *)&address, &length)) return 1;
    uint64_t operations = 0;
    ready();
    for (; running(); operations += 100)
        for (int i = 0; i < 100; i++) {
            sendto(s, bytes, size, 0, (struct sockaddr *)&address, length);
            recv(s, bytes, sizeof bytes, 0);
        }
    return done(operations);
}
