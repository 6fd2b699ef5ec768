"""Measure the pace of this host: CPU milliseconds of a fixed piece of work, best and median of a hundred.

A busy host takes up to three times the CPU seconds for the same steps: compare runs by this figure.
"""

import statistics
import time

ITERATIONS = 200_000
SAMPLES = 100


def sample() -> float:
    """CPU milliseconds of one piece."""
    began = time.process_time()
    total = 0
    for number in range(ITERATIONS):
        total += number * number % 7
    return (time.process_time() - began) * 1000


if __name__ == "__main__":
    times = [sample() for _ in range(SAMPLES)]
    print(f"{min(times):.0f} ms at best, {statistics.median(times):.0f} ms in the median")
