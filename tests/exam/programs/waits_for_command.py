"""Waits for a command that computes, as a script of a build does."""

import subprocess
import sys

import exam

print("ready", flush=True)
subprocess.run([sys.executable, "-c", f"""
import time
end = time.monotonic() + {exam.SECONDS}
x = 1
while time.monotonic() < end:
    for i in range(100000):
        x = (x * 3 + i) % 1000003
"""], check=True)
