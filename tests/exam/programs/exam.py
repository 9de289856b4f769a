"""What every Python program of the exam has in common: PROGRAM [SECONDS [SIZE]], as exam.h has it."""

import sys
import time

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 3


def size(usual):
    """The size in elements, or the usual one."""
    if len(sys.argv) <= 2:
        return usual
    text = sys.argv[2]
    return int(text.rstrip("KMG")) << {"K": 10, "M": 20, "G": 30}.get(text[-1], 0)


def measure(work):
    """Calls work, which returns how many operations it did, until the time is over."""
    print("ready", flush=True)
    wall, cpu, operations = time.monotonic(), time.process_time(), 0
    while time.monotonic() < wall + SECONDS:
        operations += work()
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    print(f"cpu_ns {cpu / operations * 1e9:.3f}\nwall_ns {wall / operations * 1e9:.3f}")
