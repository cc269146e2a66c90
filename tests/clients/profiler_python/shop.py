# A program to look at: shop.py SECONDS.
import sys
import time


def parse(n):
    total = 0
    for i in range(n):
        total += i * i % 7
    return total


def handle(n):
    return parse(n) + sum(i for i in range(n // 10))


def main(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        handle(20000)


if __name__ == "__main__":
    main(float(sys.argv[1]))
