"""Adds small integers in a loop of Python's interpreter."""

import exam


def work():
    total = 0
    for i in range(100000):
        total = (total + i * 3) % 1000003
    return 100000


exam.measure(work)
