#!/usr/bin/env python3
"""Our profiles against other people's tools, which examine the same run of the same program: shares of CPU against
`perf record`, time waited in system calls against `perf trace`. A machine without the tool, or that does not let it
look, skips. (Not strace: it stops the program at every call, so that its own time is in what we measure.)

Both sides of the CPU test are samples: a share may differ by five standard errors of both together, which happens by
chance in one comparison of two million."""
import collections
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "tools"))
sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "truth"))
import tap  # noqa: E402
from pprof_read import Profile  # noqa: E402

SECONDS = str(4 * max(1, int(float(os.environ.get("CHECK_SCALE", "1")))))
RATE = 250
HOME = tempfile.TemporaryDirectory()


def run(tool, *command):
    if not shutil.which(tool):
        raise tap.Skip(f"no {tool} here")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise tap.Skip(f"{tool} cannot look here: {(done.stderr.strip() or 'no reason given').splitlines()[-1][:150]}")
    return done.stdout


def burner(frames):
    return next((f for f in frames if f.startswith("burn_")), None)


def test_shares_of_cpu_are_those_that_perf_finds():
    data, path = os.path.join(HOME.name, "perf.data"), os.path.join(HOME.name, "cpu.pb.gz")
    run("perf", "perf", "record", "-q", "-e", "cpu-clock", "-F", "1999", "-g", "-o", data, "--",
        os.environ["PLANTED"], path, SECONDS, str(RATE))
    theirs, ours = collections.Counter(), collections.Counter()
    for block in run("perf", "perf", "script", "-i", data, "-F", "ip,sym").split("\n\n"):
        name = burner(re.findall(r"^\s*[0-9a-f]+ ([^\s+]+)", block, re.M))
        if name:
            theirs[name] += 1
    n_ours = 0
    for frames, (weight, _), _ in Profile(path).samples:
        if burner(frames):
            ours[burner(frames)] += weight
            n_ours += weight
    n_theirs = sum(theirs.values())
    print(f"# {n_ours} samples of ours, {n_theirs} of perf", flush=True)
    assert n_ours > 400 and n_theirs > 2000, (ours, theirs)
    for name in sorted(set(ours) | set(theirs)):
        share, want = ours[name] / n_ours, theirs[name] / n_theirs
        # A weight of two is two ticks that came together: as good as one sample, hence the half.
        allowed = 5 * math.sqrt(want * (1 - want) * (2 / n_ours + 1 / n_theirs))
        print(f"# {name}: {100 * share:.1f} % here, {100 * want:.1f} % by perf", flush=True)
        assert abs(share - want) <= allowed, (name, share, want, allowed)


def calls_of(text):
    """{system call: [seconds, ...]} of all threads but the recorder's own, which waits for the program."""
    took, recorder = collections.defaultdict(list), None
    for line in text.splitlines():
        words = re.search(r"\( *([0-9.]*) *(?:ms)? *\): [^/]*/(\d+) (?:\.\.\. \[continued\]: )?(\w+)\(", line)
        if not words:
            continue
        ms, thread, call = words.groups()
        recorder = recorder or thread
        if ms and thread != recorder:
            # perf subtracts clocks of two processors without a sign: a call that took less than nothing took 2**64 ns.
            took[call].append((float(ms) - (2**64 / 1e6 if float(ms) > 2**63 / 1e6 else 0)) / 1e3)
    return took


def test_waits_are_those_that_the_kernel_traces():
    said, path = os.path.join(HOME.name, "trace.txt"), os.path.join(HOME.name, "waits.pb.gz")
    calls = {"recvfrom": "recv", "poll": "poll", "epoll_wait": "epoll_wait", "wait4": "waitpid"}
    run("perf", "perf", "trace", "-T", "-e", ",".join(calls), "-o", said, "--",
        os.environ["SPANFLAME"], "record", "--block", "--out", path, "--", os.environ["WAITS"], "1")
    with open(said, encoding="utf-8") as f:
        theirs = calls_of(f.read())
    ours = Profile(path).sums("off_cpu", lambda frames: frames[0])
    for call, name in calls.items():
        seconds, got = sum(theirs[call]), ours.get(name, 0) / 1e9
        print(f"# {name}: {got:.4f} s here, {seconds:.4f} by perf trace in {len(theirs[call])} calls", flush=True)
        assert seconds > 0.02, (call, theirs)
        # Ours ends when the thread has read a clock again; others may have had the processor in between.
        assert -0.02 * seconds <= got - seconds <= 0.05 * seconds + 0.02, (name, got, seconds)


tap.run(sys.modules[__name__])
