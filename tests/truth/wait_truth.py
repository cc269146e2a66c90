#!/usr/bin/env python3
"""Profiles of a program whose waits are planted say what was planted: time waited at each site within 5 %, under the
right name.

Every wait is measured, none is sampled: there is no error by chance. The bounds are for what two clocks around the same
call may differ by on a machine that runs nothing else."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "tools"))
sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "truth"))
import tap  # noqa: E402
from pprof_read import Profile  # noqa: E402

HOME = tempfile.TemporaryDirectory()
PATH = os.path.join(HOME.name, "out.pb.gz")
SCALE = str(max(1, int(float(os.environ.get("CHECK_SCALE", "1")))))
SAID = subprocess.run([os.environ["SPANFLAME"], "record", "--mutex", "--block", "--out", PATH, "--", os.environ["WAITS"], SCALE],
                      capture_output=True, text=True, check=True, timeout=600).stdout
TRUTH = {}
for line in SAID.splitlines():
    section, name, count, ns = line.split()
    TRUTH.setdefault(section, {})[name] = (int(count), int(ns))
PROFILES = {"mutex": Profile(PATH), "block": Profile(os.path.join(HOME.name, "out-block.pb.gz"))}


def site(frames):
    return next((f for f in frames if f.startswith("wait_")), None)


def check(section, types, slack=0.0):
    profile = PROFILES[section]
    assert profile.types == types, profile.types
    got = profile.sums(types[1], site)
    wrong = {}
    for name, (_, ns) in TRUTH[section].items():
        if not abs(got.get(name, 0) - ns) <= 0.05 * ns + slack:
            wrong[name] = (got.get(name, 0), ns)
    assert not wrong, wrong
    total, planted = sum(got.values()), sum(ns for _, ns in TRUTH[section].values())
    assert abs(total - planted) <= 0.05 * planted, (total, planted)


def test_time_waited_for_each_lock():
    check("mutex", ["contentions", "delay"])


def test_the_number_of_waits_is_exact_within_two_percent():
    got = PROFILES["mutex"].sums("contentions", site)
    for name, (count, _) in TRUTH["mutex"].items():
        assert abs(got[name] - count) <= max(2, 0.02 * count), (name, got[name], count)


def test_the_innermost_frame_is_the_call_that_waited():
    tips = {}
    for frames, _, labels in PROFILES["mutex"].samples:
        if site(frames):
            tips.setdefault(site(frames), set()).add(frames[0])
            assert frames[1] == site(frames), frames
            assert labels["thread.state"] == "lock", labels
    assert tips == {"wait_long": {"pthread_mutex_lock"}, "wait_short": {"pthread_mutex_lock"},
                    "wait_read": {"pthread_rwlock_rdlock"}, "wait_write": {"pthread_rwlock_wrlock"},
                    "wait_timed": {"pthread_mutex_timedlock"}}, tips


def test_time_in_each_blocking_call():
    check("block", ["samples", "off_cpu"])


def test_what_was_waited_for_is_said():
    said = {}
    for frames, _, labels in PROFILES["block"].samples:
        if site(frames):
            said.setdefault(site(frames), set()).add((frames[0], labels["thread.state"]))
    assert said == {
        "wait_sleep": {("nanosleep", "sleep")}, "wait_usleep": {("usleep", "sleep")},
        "wait_pipe": {("read", "io")}, "wait_tiny": {("read", "io")},
        "wait_socket": {("recv", "network")}, "wait_socket_read": {("read", "network")},
        "wait_poll": {("poll", "poll")}, "wait_epoll": {("epoll_wait", "poll")},
        "wait_condition": {("pthread_cond_wait", "condition")}, "wait_semaphore": {("sem_wait", "lock")},
        "wait_child": {("waitpid", "child")}, "wait_thread": {("pthread_join", "child")}}, said


tap.run(sys.modules[__name__])
