// Looks for a word in text, letter by letter.
#include "exam.h"

static const char *find(const char *text, const char *word) {
    for (; *text; text++) {
        int i = 0;
        while (word[i] && text[i] == word[i]) i++;
        if (!word[i]) return text;
    }
    return NULL;
}

int main(int argc, char **argv) {
    size_t size = arguments(argc, argv, 1ul << 20, 1);
    char *text = memory(size + 1);
    uint64_t state = 88172645463325252ull, operations = 0;
    for (size_t i = 0; i < size; i++) text[i] = 'a' + next_random(&state) % 20;
    ready();
    for (; running(); operations += size) sink = (uintptr_t)find(text, "zebra");
    return done(operations);
}
