#!/usr/bin/env python3
"""A profile of a program whose cost is planted says what was planted: shares, totals, and the span of each sample.

CHECK_SCALE multiplies the run; at 6,000 samples the shares hold within 2 points, below within three standard errors.

Real clocks and programs, so there is an error rate: a share is further off than three standard errors once in 370. There
are seven shares with such a bound, so right code fails about once in 50 runs; the check repeats a failed test alone, at
most twice, so that it fails permanently once in 100,000. What is not a share has bounds for what the machine does, not for chance."""
import collections
import math
import os
import re
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
PATH = os.path.join(HOME.name, "out.pb.gz")
SAID = subprocess.run([os.environ["PLANTED"], PATH, SECONDS, str(RATE)], capture_output=True, text=True, check=True,
                      timeout=600).stdout
TRUTH, SPANS = {}, {}
for line in SAID.splitlines():
    kind, first, second = line.split()
    if kind == "cpu":
        TRUTH[first] = float(second)
    elif kind == "span":
        SPANS[first] = second
    else:
        print(f"# {int(first) / float(second):.0f} span switches a second", flush=True)
PROFILE = Profile(PATH)


def burner(frames):
    return next((f for f in frames if f.startswith("burn_")), None)


def test_shares_are_those_that_were_planted():
    got = collections.Counter()
    n = 0
    for frames, (weight, _), _ in PROFILE.samples:
        if burner(frames):
            got[burner(frames)] += weight
            n += 1
    total, planted = sum(got.values()), sum(TRUTH.values())
    for name, seconds in TRUTH.items():
        share, want = got[name] / total, seconds / planted
        # Weights above 1 represent ticks that came together: as good as one observation.
        allowed = max(0.02, 3 * math.sqrt(want * (1 - want) / max(1, total / 2)))
        assert abs(share - want) <= allowed, (name, share, want, allowed, total)


def test_the_sum_is_the_cpu_time_that_was_used():
    sampled = sum(weight for frames, (weight, _), _ in PROFILE.samples if burner(frames)) / RATE
    planted = sum(TRUTH.values())
    assert abs(sampled - planted) <= 0.1 * planted, (sampled, planted)


def test_the_file_says_which_rate_was_reached():
    words = re.search(r"cpu: (\d+) samples.* ([0-9.]+) a second of CPU time, ([0-9.]+) asked for", PROFILE.comments[0])
    taken, reached, asked = map(float, words.groups())
    cpu_s = sum(ns for _, (_, ns), _ in PROFILE.samples) / 1e9
    assert asked == RATE and abs(reached - taken / cpu_s) <= 0.1, (PROFILE.comments, taken / cpu_s)


def test_nearly_every_sample_carries_its_own_span():
    right = wrong = 0
    odd = []
    for frames, (weight, _), labels in PROFILE.samples:
        name = burner(frames)
        if not name:
            continue
        if SPANS.get(labels.get("span_id")) == name:
            right += weight
        else:
            wrong += weight
            odd.append((name, labels))
    assert right > 500 and wrong <= 0.001 * (right + wrong), (right, wrong, odd[:5])


def test_stacks_are_whole():
    whole = sum(w for frames, (w, _), _ in PROFILE.samples if "[unknown caller]" not in frames)
    everything = sum(w for _, (w, _), _ in PROFILE.samples)
    assert whole >= 0.99 * everything, (whole, everything)
    assert any("one_round" in frames and "work" in frames for frames, _, _ in PROFILE.samples)


def test_a_program_in_step_with_the_timer_is_seen_as_it_is():
    path = os.path.join(HOME.name, "in_step.pb.gz")
    said = subprocess.run([os.environ["IN_STEP"], path, SECONDS], capture_output=True, text=True, check=True,
                          timeout=600).stdout
    truth = {words[1]: float(words[2]) for words in map(str.split, said.splitlines())}
    got = collections.Counter()
    for frames, (_, ns), _ in Profile(path).samples:
        got[burner(frames)] += ns / 1e9
    total, planted = sum(got.values()), sum(truth.values())
    assert abs(total - planted) <= 0.05 * planted, (got, truth)
    # Some samples share a period, so they are worth fewer: a timer that does not vary sees nine to one.
    for name, seconds in truth.items():
        assert abs(got[name] / total - seconds / planted) <= 0.15, (got, truth)


def test_on_processors_that_others_want_too():
    path = os.path.join(HOME.name, "crowded.pb.gz")
    said = subprocess.run([os.environ["CROWDED"], path, SECONDS], capture_output=True, text=True, check=True,
                          timeout=600).stdout
    truth = {words[1]: float(words[2]) for words in map(str.split, said.splitlines())}
    profile, got, n = Profile(path), collections.Counter(), 0
    for frames, (_, ns), _ in profile.samples:
        got[burner(frames)] += ns / 1e9
        n += 1
    total, planted = sum(got.values()), sum(truth.values())
    by_perf = "by perf" in profile.comments[0]
    assert by_perf or "by timers: " in profile.comments[0], profile.comments
    assert abs(total - planted) <= (0.05 if by_perf else 0.1) * planted, (got, truth, profile.comments)
    for name, seconds in truth.items():
        share, want = got[name] / total, seconds / planted
        allowed = max(0.02, 3 * math.sqrt(want * (1 - want) / n)) + (0 if by_perf else 0.06)
        assert abs(share - want) <= allowed, (name, share, want, allowed, profile.comments)
    taken, reached = map(float, re.search(r"cpu: (\d+) samples.* ([0-9.]+) a second", profile.comments[0]).groups())
    print(f"# {taken:.0f} samples, {reached:.0f} of 250 a second reached", flush=True)
    assert not by_perf or reached >= 0.6 * 250, profile.comments  # timers: 0.4


def test_threads_that_let_only_sigprof_in():
    path = os.path.join(HOME.name, "closed.pb.gz")
    said = subprocess.run([os.environ["CROWDED"], path, "1", "closed"], capture_output=True, text=True, check=True,
                          timeout=600).stdout
    planted = sum(float(line.split()[2]) for line in said.splitlines())
    sampled = sum(ns for _, (_, ns), _ in Profile(path).samples) / 1e9
    assert abs(sampled - planted) <= 0.2 * planted, (sampled, planted)


def test_threads_that_live_for_milliseconds_have_their_share():
    path = os.path.join(HOME.name, "short.pb.gz")
    said = subprocess.run([os.environ["SHORT_LIVES"], path, SECONDS], capture_output=True, text=True, check=True,
                          timeout=600).stdout
    truth = {words[1]: float(words[2]) for words in map(str.split, said.splitlines())}
    got, deep = collections.Counter(), collections.Counter()
    for frames, (_, ns), _ in Profile(path).samples:
        kind = next((f for f in frames if f.startswith("live_")), None)
        got[kind] += ns / 1e9
        deep[kind] += ns / 1e9 if burner(frames) else 0
    print("# " + ", ".join(f"{k}: {got[k]:.2f} s of {truth[k]:.2f}, {deep[k]:.2f} in its function" for k in truth), flush=True)
    for name, seconds in truth.items():
        # A sample is worth 10 ms; taken at random they scatter like a count. One thread in 5 of 4 ms meets no tick, so
        # that its one sample is in what it ran, not where.
        assert abs(got[name] - seconds) <= 0.05 * seconds + 4 * math.sqrt(seconds * 0.01), (name, got, truth)
    assert deep["live_short"] >= 0.6 * got["live_short"] and deep["live_long"] >= 0.95 * got["live_long"], (got, deep)


tap.run(sys.modules[__name__])
