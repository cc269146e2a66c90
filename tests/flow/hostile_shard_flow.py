#!/usr/bin/env python3
"""A node whose ClickHouse answers with anything but rows: noise, lengths of exabytes, redirects, endless or slow bodies, compression
bombs. The node lives on, acknowledges, keeps what it acknowledged over a restart, answers from what it has and says that it is not
all, follows no redirect, and stays within its memory."""
import gzip
import http.server
import os
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))
from memory_group import most_mib  # noqa: E402
from server import Server, field, tap  # noqa: E402

IS_SHORT = float(os.environ.get("CHECK_SCALE", "1")) < 1
BUDGETS_MIB, SLACK_MIB = [64] if IS_SHORT else [64, 256], 16
CHUNK = b"10000\r\n" + b"\x05" * 65536 + b"\r\n"


def whole(body, head=b""):
    return b"HTTP/1.1 200 OK\r\n" + head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def repeat(piece, n, pause_s=0.0):
    for _ in range(n):
        yield piece
        time.sleep(pause_s)


def canary_line(shard):
    return b"HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n" % shard.canary_port


ANSWERS = {
    "noise": lambda _: [whole(os.urandom(4096))],
    "lengths": lambda _: [whole(b"\xff" * 8 + b"\x7f" + b"\xff\xff\xff\xff\x0f" * 800)],
    "ones": lambda _: [whole(b"\x01" * 4096)],
    "redirect": lambda shard: [canary_line(shard)],
    "close": lambda _: [],
    "endless": lambda _: (p for some in ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"], repeat(CHUNK, 20000)) for p in some),
    "endless_error": lambda _: (p for some in ([b"HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n"], repeat(CHUNK, 20000)) for p in some),
    "headers": lambda _: (p for some in ([b"HTTP/1.1 200 OK\r\n"], repeat(b"X-A: " + b"a" * 1000 + b"\r\n", 50000)) for p in some),
    "bomb": lambda _: [whole(gzip.compress(bytes(64 << 20)), b"Content-Encoding: gzip\r\n")],
    "longer": lambda _: [b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n" + b"\x01" * 1000],
    "slow": lambda _: (p for some in ([b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"], repeat(b"\x01", 100, 0.2)) for p in some),
}
SHORT = ("noise", "lengths", "redirect")


class Shard:
    def __init__(self, kind=None, canary_port=0):
        self.canary_port, self.n = canary_port, 0
        shard = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_POST(self):
                shard.n += 1
                if self.headers.get("Transfer-Encoding") == "chunked":
                    while (n := int(self.rfile.readline() or b"0", 16)):
                        self.rfile.read(n + 2)
                    self.rfile.readline()
                else:
                    self.rfile.read(int(self.headers.get("Content-Length") or 0))
                try:
                    for piece in ANSWERS[kind](shard) if kind else [whole(b"")]:
                        self.wfile.write(piece)
                except OSError:
                    pass  # the node has had enough
                self.close_connection = True

            do_GET = do_POST

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads, request_queue_size = True, 64

            def handle_error(self, *_):
                pass

        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def spans(trace):
    now = time.time_ns()
    one = (field(1, trace) + field(2, b"\x01" * 8) + field(5, "op") + b"\x39" + struct.pack("<Q", now) + b"\x41"
           + struct.pack("<Q", now + 1000))
    return field(1, field(1, field(1, field(1, "service.name") + field(2, field(1, "shop")))) + field(2, field(2, one)))


def attack(kind, budget_mib):
    canary = Shard()
    shard = Shard(kind, canary.port)
    s = Server(config=f"memory: {budget_mib}MiB\nstore:\n  remote:\n    url: clickhouse://127.0.0.1:{shard.port}/x\n    interval: 100ms\n    timeout: 2s\n",
               env={"MALLOC_PERTURB_": "0"})
    trace = os.urandom(16)
    try:
        s.start()
        assert s.post("/v1/traces", spans(trace)).status == 200, kind
        for path in ("/api/search?q=%7B%7D&limit=5", "/api/v1/services", "/api/v1/pins", f"/api/traces/{'ab' * 16}"):
            answer = s.get(path, timeout=60)
            assert answer.status in (200, 404, 413, 429, 503, 504), (kind, path, answer.status, answer.text[:200])
            assert len(answer.body) < 100_000, (kind, path, len(answer.body))
        answer = s.get(f"/api/traces/{trace.hex()}", timeout=60)
        # Either this node's own spans with a mark, or a refusal: never a whole answer.
        assert answer.status != 200 or answer.headers.get("x-spanflame-partial"), (kind, answer.headers.items())
        end = time.monotonic() + 30
        while shard.n < 3 and time.monotonic() < end:
            time.sleep(0.05)
        assert shard.n >= 3, (kind, shard.n)  # it was asked
        assert canary.n == 0, kind
        assert s.process.poll() is None, (kind, s.log())
        assert most_mib(s) <= budget_mib + SLACK_MIB, (kind, budget_mib, most_mib(s))
        s.kill()  # what was acknowledged and not shipped is still there
        shard.stop()
        s.start()
        answer = s.get(f"/api/traces/{trace.hex()}", timeout=60)
        assert answer.status == 200 and b"op" in answer.body, (kind, answer.status, answer.text[:200])
    finally:
        s.kill()
        canary.stop()


for name in SHORT if IS_SHORT else ANSWERS:
    def one(name=name):
        for mib in BUDGETS_MIB:
            attack(name, mib)
    one.__name__ = f"test_a_shard_that_answers_with_{name}"
    globals()[one.__name__] = one
del one


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
