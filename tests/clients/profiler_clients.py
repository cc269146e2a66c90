#!/usr/bin/env python3
"""Profilers as people install them, and every form in which each writes: py-spy and Austin from Python's index, async-profiler
from Maven's. Where one recording is written in several forms all must read as the same."""
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
import toolchain  # noqa: E402
from toolchain import HERE, run, tap  # noqa: E402

DUMP = os.environ["PROFILE_DUMP"]
SHOP = os.path.join(HERE, "profiler_python", "shop.py")
SECONDS = "1.5"
folder = tempfile.TemporaryDirectory()


def sums(path):
    """{type: {stack: sum}}"""
    found = collections.defaultdict(collections.Counter)
    for line in run("profile_dump", [DUMP, path]).splitlines():
        if not line.startswith("label\t"):
            kind, value, *_, stack = line.split("\t")
            found[kind][stack] += int(value)
    return found


def share(stacks, name):
    return sum(v for stack, v in stacks.items() if any(name in frame for frame in stack.split(";"))) / max(sum(stacks.values()), 1)


def tool(name):
    path = os.path.join(os.path.dirname(toolchain.client("profiler_python")[0]), name)
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    if done.returncode:
        raise tap.Skip(f"{name} does not start here: {(done.stderr.strip().splitlines() or ['it says nothing'])[-1]}")
    return path


def record(what, argv, out):
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", timeout=120, check=False)
    if "ermission" in done.stdout + done.stderr and not os.path.exists(out):
        raise tap.Skip(f"{what} may not look into other processes here")
    assert os.path.exists(out) and os.path.getsize(out), (argv, done)
    return sums(out)


HEADER_ONLY = 64  # a file of Austin's that is no longer has no sample


def record_with_austin(austin, flags, out):
    """Where the machine is busy Austin may end before it saw its program; then it gets more time."""
    for seconds in (SECONDS, str(4 * float(SECONDS)), str(16 * float(SECONDS))):
        argv = [austin, "-i", "5ms", *flags, "-o", out, sys.executable, SHOP, seconds]
        subprocess.run(argv, capture_output=True, timeout=120, check=False)
        if os.path.exists(out) and os.path.getsize(out) > HEADER_ONLY:
            return sums(out)
    return record("Austin", argv, out)


def test_py_spy_in_all_its_forms():
    py_spy = tool("py-spy")
    for form, kind in (("raw", "process_cpu:samples:count"), ("flamegraph", "process_cpu:samples:count"),
                       ("speedscope", "process_cpu:cpu:nanoseconds"), ("chrometrace", "wall:wall:nanoseconds")):
        out = os.path.join(folder.name, "py-spy." + form)
        told = record("py-spy", [py_spy, "record", "-r", "100", "-f", form, "-o", out, "--", sys.executable, SHOP, SECONDS], out)
        assert set(told) == {kind} and share(told[kind], "parse") > 0.5, (form, told)


def test_py_spy_dumps():
    py_spy = tool("py-spy")
    with subprocess.Popen([sys.executable, SHOP, "60"]) as program:
        try:
            for form in ([], ["--json"]):
                out, end = os.path.join(folder.name, "py-spy.dump"), time.monotonic() + 60
                while True:
                    done = subprocess.run([py_spy, "dump", "--pid", str(program.pid), *form], capture_output=True, text=True, check=False)
                    if "ermission" in done.stderr:
                        raise tap.Skip("py-spy may not look into other processes here")
                    if re.search(r'^ +handle \(|"handle"', done.stdout, re.M) or time.monotonic() > end:
                        break
                with open(out, "w", encoding="utf-8") as f:
                    f.write(done.stdout)
                told = sums(out)["threads:thread:count"]
                assert len(told) == 1 and list(told)[0].startswith("<module>;main;handle"), (form, told, done)
        finally:
            program.kill()


def test_austin_in_all_its_modes():
    austin = tool("austin")
    wall, cpu = "wall:wall:nanoseconds", "process_cpu:cpu:nanoseconds"
    for mode, kind in (("", wall), ("s", cpu), ("m", "memory:alloc_space:bytes"), ("f", wall)):
        for is_binary in (False, True):
            out = os.path.join(folder.name, f"austin{mode}{is_binary}")
            flags = [f"-{'b' if is_binary else ''}{mode}"] if is_binary or mode else []
            told = record_with_austin(austin, flags, out)
            with open(out, "rb") as f:
                assert f.read(3) == (b"MOJ" if is_binary else b"# a"), out
            assert kind in told, (mode, told)
            if mode == "f":
                assert {wall, cpu, "memory:alloc_space:bytes"} <= set(told), told
            if mode != "m":
                assert share(told[kind], "parse") > 0.5, (mode, told)


def test_async_profiler_writes_one_recording_in_many_forms():
    jars, = toolchain.client("profiler_java")
    out = os.path.join(folder.name, "async-profiler")
    os.mkdir(out)
    run("java under async-profiler", ["java", "-cp", os.pathsep.join([jars, os.path.join(jars, "*")]), "Profiled", out])
    kind, told = "process_cpu:samples:count", {}
    for path in glob.glob(os.path.join(out, "*")):
        told[os.path.basename(path)] = sums(path)[kind]
    assert len(told) == 8, told
    whole = told["traces_.txt"]
    assert sum(whole.values()) > 20 and share(whole, "Profiled.parse") > 0.2, told
    for name, stacks in told.items():
        assert sum(stacks.values()) == sum(whole.values()), (name, told)
        leaves = collections.Counter()
        for stack, value in stacks.items():
            leaves[stack.split(";")[-1]] += value
        if name.startswith("flat"):
            assert leaves == stacks, told
        else:
            assert sorted(stacks.values()) == sorted(whole.values()) and share(stacks, "Profiled.handle") == share(whole, "Profiled.handle"), (name, told)


tap.run(sys.modules[__name__])
