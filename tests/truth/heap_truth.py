#!/usr/bin/env python3
"""A heap profile of a program whose allocations are planted says what was planted: bytes and objects of each site,
allocated and in use, each with its own span.

A site's error is chance: an object of n bytes is seen with p = 1 - exp(-n / mean) and then represents 1 / p, so the
variance of the sum is count * n^2 * (1 - p) / p. Three standard errors, for every site. One in 370 is further off by
chance: what is wrong must be wrong in a second run, too. Error rate: (1 / 370)^2 for each of about 10 sites and 4 values,
once in 3,000 runs."""
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "tools"))
sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "truth"))
import tap  # noqa: E402
from pprof_read import Profile  # noqa: E402

MEAN = 512 * 1024  # what finds no space at a faster rate, on a busy machine, is carried by a later sample
ROUNDS = str(150 * max(1, int(float(os.environ.get("CHECK_SCALE", "1")))))
HOME = tempfile.TemporaryDirectory()
PATHS = [os.path.join(HOME.name, name) for name in ("first.pb.gz", "second.pb.gz")]
ENV = dict(os.environ, SPANFLAME_PROFILING_ADAPTIVE_BUDGET="100%")  # what it allocates in a second would lengthen the mean
SAID = "".join(subprocess.run([os.environ["ALLOCATES"], path, str(MEAN), ROUNDS], capture_output=True, text=True,
                              check=True, timeout=600, env=ENV).stdout for path in PATHS)
PLANTED, LIVE, SPANS = {}, {}, {}
for line in SAID.splitlines():
    kind, *rest = line.split()
    if kind == "span":
        SPANS[rest[0]] = rest[1]
    else:
        (PLANTED if kind == "alloc" else LIVE)[rest[0]] = (int(rest[1]), int(rest[2]))
PROFILE, SECOND = map(Profile, PATHS)


def site(frames):
    return next((f for f in frames if f.startswith("site_")), None)


def wrong_sites(profile, value_type, planted, unit):
    got, wrong = profile.sums(value_type, site), {}
    for name, (size, count) in planted.items():
        p = 1 - math.exp(-size / MEAN)
        error = math.sqrt(count * (1 - p) / p) * unit(size)
        want = count * unit(size)
        # site_grown also requests 16 bytes first, each time.
        extra = count * unit(16) + 3 * math.sqrt(count * MEAN / 16) * unit(16) if name == "site_grown" else 0
        if not want - 3 * error <= got.get(name, 0) <= want + extra + 3 * error:
            wrong[name] = (got.get(name, 0), want, error)
    return wrong


def check(value_type, planted, unit):
    wrong = wrong_sites(PROFILE, value_type, planted, unit)
    again = wrong_sites(SECOND, value_type, planted, unit) if wrong else {}
    assert not set(wrong) & set(again) and len(wrong) < 3, (value_type, wrong, again)


def test_four_values_of_each_sample():
    assert PROFILE.types == ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"], PROFILE.types


def test_allocated_bytes_of_every_site():
    check("alloc_space", PLANTED, lambda size: size)


def test_allocated_objects_of_every_site():
    check("alloc_objects", PLANTED, lambda size: 1)


def test_bytes_in_use_are_those_that_were_kept():
    check("inuse_space", LIVE, lambda size: size)
    check("inuse_objects", LIVE, lambda size: 1)
    got = PROFILE.sums("inuse_space", site)
    assert set(got) - {n for n, v in got.items() if not v} == set(LIVE), got


def test_every_sample_of_a_site_carries_its_span():
    n = 0
    for frames, _, labels in PROFILE.samples:
        if site(frames):
            n += 1
            assert SPANS.get(labels.get("span_id")) == site(frames), (site(frames), labels)
    assert n > 20, n


def test_the_stack_begins_where_the_program_called():
    for frames, _, _ in PROFILE.samples:
        if site(frames):
            assert frames[0] in (site(frames), "by_posix"), frames
            assert "run" in frames, frames


tap.run(sys.modules[__name__])
