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
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PER_ROUND = 200   # cycles of the kill loop at scale 1
ROUND_S = 1200    # of one kill loop: a busy machine makes a round longer, not shorter
DAMAGE = 0.2      # scale of the damage: a few changes to every kind of file, others in every round


class Sum:
    def __init__(self):
        self.kills = self.spans = self.profiles = self.samples = self.passed = self.failed = 0
        self.damaged, self.kinds = 0, set()

    def add(self, said):
        for line in said.splitlines():
            self.passed += line.startswith("ok ")
            self.failed += line.startswith("not ok ")
            # "call kills" are among "kills": the server died in a file call of its own before it was killed.
            for number, word in re.findall(r"(\d+) (?:start )?(kills|spans|profiles|samples)\b", line) if "cycles" in line else ():
                setattr(self, word, getattr(self, word) + int(number))
            found = re.search(r"(\d+) damaged directories of \d+ kinds of files \((.*)\)", line)
            if found:
                self.damaged += int(found[1])
                self.kinds |= set(found[2].split(", "))

    def line(self):
        return (f"{self.kills} kills, {self.spans} spans and {self.samples} samples in {self.profiles} profiles acknowledged, "
                f"{self.damaged} directories with damage to {len(self.kinds)} kinds of files")


def copy_programs(build):
    """What is killed stays what it was when the soak began, whatever is built meanwhile."""
    os.makedirs(os.path.join(build, "tests"))
    for name in ("spanflame", "tests/libfaultfs.so"):
        shutil.copy2(os.path.join(ROOT, "build", name), os.path.join(build, name))


def run_test(build, name, scale, seed, total):
    env = dict(os.environ, CHECK_SCALE=str(scale), SEED=str(seed), KILL_LOOP_SECONDS=str(ROUND_S), SOURCE_ROOT=ROOT,
               BUILD_ROOT=build, SPANFLAME=os.path.join(build, "spanflame"))
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tests", "fault", name)], env=env, capture_output=True, text=True,
                          check=False)
    total.add(done.stdout)
    if done.returncode or "not ok " in done.stdout:
        total.failed += "not ok " not in done.stdout
        print(f"soak-store: {name} with SEED={seed} CHECK_SCALE={scale}:\n{done.stdout[-4000:]}{done.stderr[-2000:]}", flush=True)


def soak(args, build, total):
    end, seed = time.monotonic() + args.seconds, args.seed
    while total.kills < args.kills and time.monotonic() < end:
        before, begun = total.kills, time.monotonic()
        scale = min(1.0, max(0.02, (args.kills - total.kills) / PER_ROUND))
        run_test(build, "kill_loop.py", scale, seed, total)
        run_test(build, "damage_faults.py", DAMAGE, seed, total)
        print(f"soak-store: {total.line()}; this round took {time.monotonic() - begun:.0f} s", flush=True)
        seed += 1
        if total.kills == before:
            total.failed += 1  # a loop that kills nothing would continue for ever
            break


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    args.add_argument("--kills", type=int, default=2000)
    args.add_argument("--seconds", type=int, default=4 * 3600)
    args.add_argument("--seed", type=int, default=1)
    args = args.parse_args()
    total = Sum()
    with tempfile.TemporaryDirectory(prefix="sf_soak.") as folder:
        build = os.path.join(folder, "build")
        copy_programs(build)
        soak(args, build, total)
    print(f"soak-store: {total.line()}")
    print("soak-store: damaged: " + ", ".join(sorted(total.kinds)))
    print(f"{total.passed} passed, {total.failed} failed")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main())
