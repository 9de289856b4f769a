"""Writes the inputs of the installed programs into the current folder: the same bytes each time."""

import json
import random

random.seed(1)
words = ["".join(random.choices("etaoinshrdlucmfwyp", k=random.randint(2, 10))) for _ in range(20000)]
# As in a language, few words are most of the text.
weights = [1 / (rank + 1) for rank in range(len(words))]
with open("text", "w") as file:
    for _ in range(60):
        file.write(" ".join(random.choices(words, weights, k=80000)) + "\n")
with open("lines", "w") as file:
    for _ in range(2000000):
        file.write(f"{random.getrandbits(32)} {words[random.getrandbits(14)]}\n")
with open("data.json", "w") as file:
    json.dump([{"id": i, "name": words[i % 20000], "tags": words[i % 1000:i % 1000 + 3], "price": i / 7} for i in range(80000)], file)
with open("big.c", "w") as file:
    for i in range(4000):
        file.write(f"int f{i}(int *a, int n) {{ int s = {i}; for (int k = 0; k < n; k++) {{ if (a[k] > {i % 97}) s += a[k] * {i % 13}; "
                   f"else s ^= a[k] << {i % 7}; }} return s % {i + 3}; }}\n")
