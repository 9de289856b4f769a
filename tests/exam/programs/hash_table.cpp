// Looks up random keys in std::unordered_map; the next key comes from what was found.
#include "exam.h"
#include <unordered_map>

int main(int argc, char **argv) {
    size_t n = arguments(argc, argv, 128ul << 20, 1) / 64;
    std::unordered_map<uint64_t, uint64_t> map;
    map.reserve(n);
    uint64_t state = 88172645463325252ull, operations = 0, key = 0;
    for (size_t i = 0; i < n; i++) map[i * 0x9e3779b97f4a7c15ull] = next_random(&state);
    ready();
    for (; running(); operations += 1000)
        for (int i = 0; i < 1000; i++) key = map.find((key + i) % n * 0x9e3779b97f4a7c15ull)->second;
    sink = key;
    return done(operations);
}
