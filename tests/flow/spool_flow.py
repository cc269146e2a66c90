#!/usr/bin/env python3
"""What a large body carries beside its profile is in no file: not in the spool while it arrives, not in the data after."""
import glob
import gzip
import os
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from server import Server, tap  # noqa: E402

MIB = 1 << 20


def spool_files(s):
    """Nameless files below the data directory that the server has open."""
    found = []
    for fd in glob.glob(f"/proc/{s.process.pid}/fd/*"):
        try:
            target = os.readlink(fd)
        except OSError:
            continue
        if target.startswith(os.path.join(s.data, "spool")):
            found.append(fd)
    return found


def read(path):
    with open(path, "rb") as f:
        return f.read()


def assert_nowhere(s, secrets):
    """In no file of the data directory, and in none that is open."""
    is_whole = False
    while not is_whole:  # the log renames its next file while it is listed: list again
        is_whole = True
        for folder, _, names in os.walk(s.data):
            for name in names:
                try:
                    content = read(os.path.join(folder, name))
                except FileNotFoundError:
                    is_whole = False
                    continue
                for secret in secrets:
                    assert secret not in content, f"{secret!r} is in {folder}/{name}"


def send_in_two(s, path, body, first_len, look):
    """Sends the first part, waits until it is spooled, looks, and sends the rest; the answer's status."""
    with socket.create_connection(("127.0.0.1", s.port), timeout=60) as c:
        c.sendall(f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body[:first_len])
        end = time.monotonic() + 30
        while sum(os.stat(fd).st_size for fd in spool_files(s)) < first_len and time.monotonic() < end:
            time.sleep(0.02)
        files = spool_files(s)
        assert files and sum(os.stat(fd).st_size for fd in files) >= first_len, "nothing was spooled"
        look([read(fd) for fd in files])
        c.sendall(body[first_len:])
        return int(c.recv(65536).split()[1])


def test_a_body_that_waits_in_the_spool_cannot_be_read_there():
    line = b"main;login?password=Hunter2-was-here 1\n"
    body = line * (3 * MIB // len(line))

    def look(contents):
        assert all(b"Hunter2" not in content for content in contents), "the spool holds plain text"
        assert any(len(set(content[:4096])) > 200 for content in contents), "the spool holds no noise"

    with Server() as s:
        status = send_in_two(s, "/api/v1/profile?service=shop&type=cpu", body, 2 * MIB, look)
        assert status == 200, status
        folded = s.get("/api/v1/profile?service=shop&type=cpu&format=folded").text
        assert int(folded.rsplit(" ", 1)[1]) > 0, folded  # it was read back as it was sent
        assert not spool_files(s), "the spool file is still open"


def test_events_of_a_recording_that_carry_the_environment_never_reach_the_disk():
    path = os.path.join(os.environ["SOURCE_ROOT"], "tests", "data", "profiles", "jfr", "event-with-type-zero.jfr.gz")
    body = gzip.decompress(read(path))
    secrets = [b"/usr/local/sbin:/usr/local/bin:/usr/sbin", b"JAVA_HOME"]
    assert len(body) > 2 * MIB and all(secret in body for secret in secrets)

    def look(contents):
        for secret in secrets:
            assert all(secret not in content for content in contents), secret

    with Server() as s:
        assert send_in_two(s, "/api/v1/profile?service=jvm", body, len(body) - 1000, look) == 200
        assert_nowhere(s, secrets)  # it is in the log now
        assert s.post("/api/v1/flush", b"", "application/json").status == 200
        assert_nowhere(s, secrets)  # and in blocks
        answer = s.get("/api/v1/profile?service=jvm&type=cpu&format=folded&from=0")
        assert answer.status == 200 and answer.text, answer.text[:300]
        assert all(secret.decode() not in answer.text for secret in secrets)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
