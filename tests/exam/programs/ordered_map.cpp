// Looks up random keys in std::map, whose nodes lie where the allocator put them.
#include "exam.h"
#include <map>

int main(int argc, char **argv) {
    size_t n = arguments(argc, argv, 64ul << 20, 1) / 64;
    std::map<uint64_t, uint64_t> map;
    uint64_t state = 88172645463325252ull, operations = 0, sum = 0;
    for (size_t i = 0; i < n; i++) map.emplace(next_random(&state), i);
    ready();
    for (; running(); operations += 1000)
        for (int i = 0; i < 1000; i++) sum += map.lower_bound(next_random(&state))->second;
    sink = sum;
    return done(operations);
}
