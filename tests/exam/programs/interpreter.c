// Interprets a small program of bytecode in a loop with a switch.
#include "exam.h"

enum { PUSH, ADD, XOR, SWAP, DROP, DUP, AGAIN };

int main(int argc, char **argv) {
    size_t n = arguments(argc, argv, 4ul << 10, 1);
    unsigned char *code = memory(n);
    uint64_t state = 88172645463325252ull, operations = 0, stack[64] = {0}, a = 1, b = 2;
    // Pushes and drops by chance: the depth wraps, as it is only of 64.
    for (size_t i = 0; i + 1 < n; i++) code[i] = next_random(&state) % AGAIN;
    code[n - 1] = AGAIN;
    unsigned depth = 0;
    ready();
    while (running())
        for (size_t at = 0, rounds = 0; rounds < 16; operations++)
            switch (code[at++]) {
            case PUSH: stack[depth++ & 63] = b, b = a, a = at; break;
            case ADD: a += b, b = stack[--depth & 63]; break;
            case XOR: a ^= b; break;
            case SWAP: { uint64_t t = a; a = b, b = t; break; }
            case DROP: a = b, b = stack[--depth & 63]; break;
            case DUP: stack[depth++ & 63] = a; break;
            case AGAIN: at = 0, rounds++; break;
            }
    sink = a + b;
    return done(operations);
}
