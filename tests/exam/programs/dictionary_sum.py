"""Sums values of a dictionary at random."""

import random

import exam

COUNT = exam.size(4 << 20)
random.seed(1)
values = {key: key * 3 + 1000 for key in range(COUNT)}
keys = [random.randrange(COUNT) for _ in range(min(COUNT, 1 << 20))]


def work():
    total = 0
    for key in keys:
        total += values[key]
    return len(keys)


exam.measure(work)
