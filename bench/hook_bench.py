#!/usr/bin/env python3
"""What do the profilers cost the program they examine, and each hook its call?

Bare, preloaded with everything off, and recorded with CPU at 100 Hz, heap, mutex and block on, in turn; the order
changes with every round. Operations: the best of many tries in each process. The whole: CPU time of the process while
it works. Each is the median of the pairs, with the interval that holds it with 95 % (bootstrap) and what was promised.
PAIRS=40 sets how many."""
import os
import random
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
WORK = os.path.join(ROOT, "build", "bench", "hook_work")
LIBRARY = os.path.join(ROOT, "build", "collect", "libspanflame.so.1")
PAIRS = int(os.environ.get("PAIRS", "40"))
ROUNDS = 15
HOME = tempfile.TemporaryDirectory()
RECORDED = {"SPANFLAME_RECORD_FILE": os.path.join(HOME.name, "out.pb.gz"), "SPANFLAME_RECORD_RATE": "100",
            "SPANFLAME_RECORD_KINDS": "cpu,heap,mutex,block"}


def run(how, *what):
    """What the program says, its CPU seconds to the very end, and the most memory it held, KB."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SPANFLAME_", "LD_"))}
    if how != "bare":
        env["LD_PRELOAD"] = LIBRARY
    if how == "on":
        env.update(RECORDED)
    # The recording is meant for one process, the one that exec makes of this shell.
    argv = ["sh", "-c", 'SPANFLAME_RECORD_PID=$$ exec "$0" "$@"', WORK, *what]
    out = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    said = out.stdout.read()
    _, status, used = os.wait4(out.pid, 0)
    out.returncode = status
    out.stdout.close()
    if status:
        sys.exit(f"{' '.join(what)}, {how}: ended with {status}")
    ns, memory = said.split()
    return float(ns), used.ru_utime + used.ru_stime, int(memory)


def rounds(n, *what):
    got = {"bare": [], "off": [], "on": []}
    for i in range(n):
        order = list(got)
        random.Random(i).shuffle(order)
        for how in order:
            got[how].append(run(how, *what))
    return got


def interval(values):
    """Where the median lies, 95 times of 100."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(values, k=len(values))) for _ in range(2000))
    return medians[50], medians[1949]


def tell(name, values, unit, target=None):
    low, high = interval(values)
    print(f"{name} {statistics.median(values):.2f} {unit}\n{name}_from {low:.2f} {unit}\n{name}_to {high:.2f} {unit}")
    if target is not None:
        print(f"{name}_target {target} {unit}")


# Locks back to back, and with work in between.
TARGETS_NS = {"pair": 3, "lock": 1, "apart": 1, "read": 30}
for operation, most in TARGETS_NS.items():
    got = rounds(ROUNDS, operation)
    print(f"{operation}_bare {statistics.median(v[0] for v in got['bare']):.2f} ns")
    for state in ("off", "on"):
        tell(f"{operation}_more_{state}", [a[0] - b[0] for a, b in zip(got[state], got["bare"])], "ns", most)

WHOLE = rounds(PAIRS, "work", os.environ.get("ROUNDS", "400000"))
for state in ("off", "on"):
    tell(f"work_{state}", [(a[0] / b[0] - 1) * 100 for a, b in zip(WHOLE[state], WHOLE["bare"])], "%", 1)
rest = {how: statistics.median(v[1] - v[0] / 1e9 for v in WHOLE[how]) for how in WHOLE}
print(f"start_and_write {(rest['on'] - rest['bare']) * 1000:.0f} ms")
for state in ("off", "on"):
    tell(f"memory_{state}", [(a[2] - b[2]) / 1024 for a, b in zip(WHOLE[state], WHOLE["bare"])], "MB", 16)
