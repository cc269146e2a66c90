#!/usr/bin/env python3
"""soak_store [--kills N] [--seconds N] [--seed N] - the store, killed and damaged for a long time.

Rounds of two tests, each with a seed of its own: the kill loop (spans and profiles are written, flushed, merged and
erased while the server is killed with SIGKILL; after each restart what was acknowledged is there once), then damage to
every kind of file of a data directory (bits flipped, ends cut, slots of the log zeroed and deleted; fsck and /ready name
it). Ends after that many kills, or when the time is used up; a round that has begun is finished. The last line is the
sum; exit status 1 when a check failed or nothing was killed.
"""
import argparse
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PER_ROUND = 200  # cycles of the kill loop at scale 1


class Sum:
    def __init__(self):
        self.kills = self.spans = self.profiles = self.passed = self.failed = 0

    def add(self, said):
        for line in said.splitlines():
            self.passed += line.startswith("ok ")
            self.failed += line.startswith("not ok ")
            for number, word in re.findall(r"(\d+) (?:call |start )?(kills|spans|profiles)\b", line) if "cycles" in line else ():
                setattr(self, word, getattr(self, word) + int(number))

    def line(self):
        return f"{self.kills} kills, {self.spans} spans, {self.profiles} profiles acknowledged"


def run_test(name, scale, seed, total):
    env = dict(os.environ, CHECK_SCALE=str(scale), SEED=str(seed), SOURCE_ROOT=ROOT, BUILD_ROOT=os.path.join(ROOT, "build"),
               SPANFLAME=os.path.join(ROOT, "build", "spanflame"))
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tests", "fault", name)], env=env, capture_output=True, text=True,
                          check=False)
    total.add(done.stdout)
    if done.returncode or "not ok " in done.stdout:
        total.failed += "not ok " not in done.stdout
        print(f"soak-store: {name} with SEED={seed} CHECK_SCALE={scale}:\n{done.stdout[-4000:]}{done.stderr[-2000:]}", flush=True)


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    args.add_argument("--kills", type=int, default=2000)
    args.add_argument("--seconds", type=int, default=4 * 3600)
    args.add_argument("--seed", type=int, default=1)
    args = args.parse_args()
    total, end, seed = Sum(), time.monotonic() + args.seconds, args.seed
    while total.kills < args.kills and time.monotonic() < end:
        before = total.kills
        scale = min(1.0, max(0.02, (args.kills - total.kills) / PER_ROUND))
        run_test("kill_loop.py", scale, seed, total)
        run_test("damage_faults.py", min(1.0, scale), seed, total)
        print(f"soak-store: {total.line()}", flush=True)
        seed += 1
        if total.kills == before:
            total.failed += 1  # a loop that kills nothing would go on for ever
            break
    print(f"soak-store: {total.line()}")
    print(f"{total.passed} passed, {total.failed} failed")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
