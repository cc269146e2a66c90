#!/usr/bin/env python3
"""spanflame fsck: silent about a good directory, plain about a damaged one, changes nothing."""
import glob
import hashlib
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))
from server import PROGRAM, Server, make_span, tap  # noqa: E402

server = Server().start()


def fsck(*flags):
    return subprocess.run([PROGRAM, "fsck", server.data, *flags], capture_output=True, text=True, timeout=120)


def digest():
    out = {}
    for path in glob.glob(server.data + "/**/*", recursive=True):
        if os.path.isfile(path):
            with open(path, "rb") as f:
                out[path] = hashlib.sha256(f.read()).hexdigest()
    return out


def test_a_directory_in_use_is_left_alone():
    server.send([make_span(name=f"op {i}") for i in range(100)])
    result = fsck()
    assert result.returncode == 1 and "in use" in result.stderr + result.stdout or "holds" in result.stderr, result


def test_a_good_directory_is_good():
    assert server.post("/api/v1/flush", b"", "application/json").status == 200
    assert server.stop() == 0
    before = digest()
    result = fsck()
    assert result.returncode == 0 and "no errors found" in result.stdout, result
    assert json.loads(fsck("--output", "json").stdout) == {"findings": [], "faults": 0}
    assert digest() == before


def test_a_flipped_bit_is_found_in_words():
    block = glob.glob(server.data + "/spans/*/*.sfs")[0]
    with open(block, "r+b") as f:
        f.seek(200)
        byte = f.read(1)
        f.seek(200)
        f.write(bytes([byte[0] ^ 1]))
    result = fsck()
    assert result.returncode == 1 and "checksum" in result.stdout and os.path.basename(block) in result.stdout, result


def test_a_log_that_is_gone_with_its_tail_is_missed():
    for has_folder in (True, False):
        with Server() as s:
            s.send([make_span(name=f"op {i}") for i in range(100)])
            s.stop(signal.SIGKILL)
            for path in glob.glob(s.data + "/wal/*") + [s.data + "/wal.tail"]:
                os.remove(path)
            if not has_folder:
                os.rmdir(s.data + "/wal")
            result = subprocess.run([PROGRAM, "fsck", s.data], capture_output=True, text=True, timeout=120, check=False)
            assert result.returncode == 1 and "what was acknowledged after record 0 is lost" in result.stdout, result
            s.start()
            ready = s.get("/ready").text
            assert "the log was missing at start" in ready, ready
            assert "spanflame_log_missing 1" in s.metrics()
            s.send([make_span(name="after")])
            assert s.stop() == 0
            s.start()
            assert "missing" not in s.get("/ready").text and "spanflame_log_missing 0" in s.metrics()


def test_links_and_pipes_in_the_directory_are_not_followed():
    """A link may lead where the sandboxed server may not read, and fsck may; opening a pipe waits for its other end."""
    with Server() as s:
        s.send([make_span(name=f"op {i}") for i in range(100)])
        s.stop(signal.SIGKILL)
        slot, = [path for path in glob.glob(s.data + "/wal/*") if os.path.getsize(path)][:1]
        os.rename(slot, s.home + "/moved")
        os.symlink(s.home + "/moved", slot)
        os.remove(s.data + "/wal.tail")
        os.mkfifo(s.data + "/wal.tail")
        result = subprocess.run([PROGRAM, "fsck", s.data], capture_output=True, text=True, timeout=120, check=False)
        assert result.returncode == 1 and os.path.basename(slot) in result.stdout and "wal.tail" in result.stdout, result
        s.start()
        ready = s.get("/ready").text
        assert "degraded" in ready, ready
        assert os.path.getsize(s.home + "/moved") > 0


def test_links_in_place_of_directories_are_refused_by_server_and_fsck():
    """The sandboxed server may not read behind such a link; fsck may, and found no errors."""
    with Server() as s:
        s.send([make_span(name=f"op {i}") for i in range(100)])
        assert s.post("/api/v1/flush", b"", "application/json").status == 200
        s.stop()
        day, = os.listdir(s.data + "/spans")
        for name in ("wal", "spans", "spans/" + day, "verdict", "symbols", "adhoc", "meta.db"):
            path, moved = os.path.join(s.data, name), s.home + "/moved"
            is_there = os.path.exists(path)
            if is_there:
                os.rename(path, moved)
            else:
                os.mkdir(moved)
            os.symlink(moved, path)
            said = f"{name} is a symbolic link, not a {'regular file' if name == 'meta.db' else 'directory'}"
            result = subprocess.run([PROGRAM, "fsck", s.data], capture_output=True, text=True, timeout=120, check=False)
            assert result.returncode == 1 and f"{said}; the server does not start with it\n" in result.stdout, result
            start = subprocess.run([PROGRAM, "serve", "--data", s.data, "--listen", f"127.0.0.1:{s.port}"],
                                   capture_output=True, text=True, timeout=120, check=False)
            assert start.returncode == 1 and said in start.stdout + start.stderr, start
            os.remove(path)
            if is_there:
                os.rename(moved, path)
            else:
                os.rmdir(moved)
        result = subprocess.run([PROGRAM, "fsck", s.data], capture_output=True, text=True, timeout=120, check=False)
        assert result.returncode == 0, result
        s.start()


def test_a_copy_that_is_a_link_is_named_by_server_and_fsck():
    with Server() as s:
        s.send([make_span(name=f"op {i}") for i in range(100)])
        s.stop()
        os.rename(s.data + "/tenants.log", s.home + "/moved")
        os.symlink(s.home + "/moved", s.data + "/tenants.log")
        said = "open tenants.log: it is not a regular file"
        result = subprocess.run([PROGRAM, "fsck", s.data], capture_output=True, text=True, timeout=120, check=False)
        assert result.returncode == 1 and said + "\n" in result.stdout, result
        start = subprocess.run([PROGRAM, "serve", "--data", s.data, "--listen", f"127.0.0.1:{s.port}"],
                               capture_output=True, text=True, timeout=120, check=False)
        assert start.returncode == 1 and said in start.stdout + start.stderr, start
        os.remove(s.data + "/tenants.log")
        os.rename(s.home + "/moved", s.data + "/tenants.log")
        s.start()


def test_a_directory_that_is_none_is_said_so():
    result = subprocess.run([PROGRAM, "fsck", server.home + "/nothing"], capture_output=True, text=True)
    assert result.returncode == 1 and "No such file" in result.stderr, result


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
