#!/usr/bin/env python3
"""A program with debug information: its profile has files, lines and what was inlined, in the file, on the server and in
what the server exports."""
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow"))
from recording import HOME, OUT, SOURCE, SPANFLAME, bare, raw_of_go, recorded, tap  # noqa: E402
from server import Server  # noqa: E402

SHORT = os.path.join(SOURCE, "tests", "flow", "library", "lines.cc")
CHAIN = ["main", "double work::Job::run<double>(double)", "work::middle(double)", "work::inner(double)"]
with open(SHORT, encoding="ascii") as source:
    MARKS = {line.split("// ")[1].strip(): at for at, line in enumerate(source, 1) if "// " in line[1:]}
LINES = {"work::inner(double)": "hot", "work::middle(double)": "calls inner", CHAIN[1]: "calls middle", "main": "calls run"}


def built(name, *flags):
    if not shutil.which("g++"):
        raise tap.Skip("there is no g++")
    program = os.path.join(HOME, name)
    subprocess.run(["g++", "-O2", SHORT, "-o", program, *flags], check=True)
    return program


def exported(what, form, *flags):
    done = bare([SPANFLAME, "export", what, "--format", form, *flags])
    assert done.returncode == 0, done.stderr
    return done.stdout


def has_lines(frames):
    """Every function of the chain says its file and the line that is marked in it."""
    for function, mark in LINES.items():
        lines = {f["line"] for f in frames if f["function"] == function and f.get("file") == SHORT}
        assert MARKS[mark] in lines, (function, MARKS, frames)


def has_chain(folded):
    assert any(";".join(CHAIN) in line for line in folded.splitlines()), folded


def test_a_recorded_file_has_lines_and_what_was_inlined():
    program = built("lines", "-g")
    done = recorded([program], "--cpu")
    assert done.returncode == 0, done
    has_lines(json.loads(exported(OUT, "json"))["frames"])
    has_chain(exported(OUT, "folded"))


def test_pprof_reads_the_same_lines():
    recorded([built("lines", "-g")], "--cpu")
    raw = raw_of_go(OUT)
    at = raw.index(f"work::inner(double) {SHORT}:{MARKS['hot']}")
    lines = [line.strip() for line in raw[at:].splitlines()[1:3]]
    assert lines[0].startswith(f"work::middle(double) {SHORT}:{MARKS['calls inner']}"), raw
    assert lines[1].startswith(f"double work::Job::run<double>(double) {SHORT}:{MARKS['calls middle']}"), raw
    assert "s=" in lines[1] and "_ZN4work3Job3runIdEET_S2_" in lines[1], raw
    assert "[FN][FL][LN][IN]" in raw, raw


def test_a_server_keeps_shows_and_exports_them():
    program = built("lines", "-g")
    with Server() as server:
        url = f"http://127.0.0.1:{server.port}"
        done = bare([SPANFLAME, "record", "--cpu", "--server", url, "--", program],
                    env=dict(os.environ, OTEL_SERVICE_NAME="lines"))
        assert done.returncode == 0, done
        ask = ['{service_name="lines"}', "json", "--server", url]
        for _ in range(100):
            frames = json.loads(exported(*ask))["frames"]
            if frames:
                break
            time.sleep(0.05)
        has_lines(frames)
        has_chain(exported(ask[0], "folded", *ask[2:]))
        shown = bare([SPANFLAME, "top", ask[0], "--group-by", "line", *ask[2:]]).stdout
        assert f"work::inner(double) lines.cc:{MARKS['hot']}" in shown, shown
        with open(os.path.join(HOME, "exported.pb.gz"), "wb") as f:
            f.write(subprocess.run([SPANFLAME, "export", ask[0], "--format", "pprof", *ask[2:]], check=True,
                                   capture_output=True).stdout)
        has_lines(json.loads(exported(f.name, "json"))["frames"])


def test_without_debug_information_the_symbol_table_names_it():
    recorded([built("bare")], "--cpu")
    frames = json.loads(exported(OUT, "json"))["frames"]
    assert any(f["function"].startswith(CHAIN[1]) and not f.get("file") for f in frames), frames
    assert not any("inner" in f["function"] for f in frames), frames


tap.run(sys.modules[__name__])
