#!/usr/bin/env python3
"""The server's own profiles: /debug/pprof/profile and /debug/pprof/heap."""
import gzip
import os
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))
from server import PROGRAM, Server, export_request, make_span, tap  # noqa: E402

LIBRARY = os.path.join(os.environ["BUILD_ROOT"], "collect", "libspanflame.so.1")
server = Server().start()


class Load:
    """Spans without a pause, so that there is something to see."""

    def __init__(self, to):
        self.to, self.is_over = to, False
        self.body = export_request([make_span(service="busy") for _ in range(2000)])
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.is_over:
            self.to.post("/v1/traces", self.body)

    def __enter__(self):
        self.thread.start()

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()


def test_cpu_time_of_the_server_is_pprof_with_its_functions():
    with Load(server):
        answer = server.get("/debug/pprof/profile?seconds=2&rate=500")
    assert answer.status == 200, answer.text
    profile = gzip.decompress(answer.body)
    for name in (b"cpu", b"nanoseconds", b"sf_otlp_traces_export"):
        assert name in profile, name


def test_the_flame_command_reads_it():
    with Load(server):
        done = subprocess.run([PROGRAM, "flame", f"http://127.0.0.1:{server.port}/debug/pprof/profile?seconds=2"],
                              capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done
    assert "sf_otlp_traces_export" in done.stdout, done.stdout


def test_one_profile_at_a_time():
    first = []
    thread = threading.Thread(target=lambda: first.append(server.get("/debug/pprof/profile?seconds=3").status))
    thread.start()
    statuses, end = [], time.monotonic() + 20
    while 429 not in statuses and time.monotonic() < end and thread.is_alive():
        answer = server.get("/debug/pprof/profile?seconds=1")
        statuses.append(answer.status)
    thread.join()
    if first == [429]:  # ours was there before it
        assert 200 in statuses, statuses
    else:
        assert first == [200] and statuses[-1] == 429 and "one at a time" in answer.text, (first, statuses)
        assert answer.headers["Retry-After"], answer.headers


def test_bounds_are_told():
    for query, what in [("seconds=0", "seconds"), ("seconds=121", "seconds"), ("seconds=x", "seconds"),
                        ("seconds=1&rate=0", "rate"), ("seconds=1&rate=1001", "rate")]:
        answer = server.get("/debug/pprof/profile?" + query)
        assert answer.status == 400 and what in answer.text, (query, answer.status, answer.text)


def test_a_caller_who_goes_away_ends_it():
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        s.sendall(b"GET /debug/pprof/profile?seconds=100 HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(0.5)
    end = time.monotonic() + 30
    while time.monotonic() < end:
        answer = server.get("/debug/pprof/profile?seconds=1")
        if answer.status == 200:
            return
        assert answer.status == 429, answer.text
        time.sleep(0.1)
    raise AssertionError("it goes on for nobody")


def test_a_server_that_stops_gives_what_it_has():
    own = Server().start()
    s = socket.create_connection(("127.0.0.1", own.port), timeout=60)
    s.sendall(b"GET /debug/pprof/profile?seconds=100 HTTP/1.1\r\nHost: a\r\n\r\n")
    time.sleep(0.5)
    assert own.get("/debug/pprof/profile?seconds=1").status == 429  # it has begun
    assert own.stop() == 0
    answer = b""
    while piece := s.recv(65536):
        answer += piece
    head, body = answer.split(b"\r\n\r\n", 1)
    assert head.startswith(b"HTTP/1.1 200"), head
    gzip.decompress(body)


def test_memory_needs_the_library_before_malloc():
    answer = server.get("/debug/pprof/heap")
    assert answer.status == 501 and "LD_PRELOAD" in answer.text, (answer.status, answer.text)
    with Server(env={"LD_PRELOAD": LIBRARY}) as own:
        assert own.get("/debug/pprof/heap").status == 200  # from here on memory is sampled
        for _ in range(20):
            own.send([make_span(service="busy") for _ in range(2000)])
        answer = own.get("/debug/pprof/heap")
        assert answer.status == 200, answer.text
        profile = gzip.decompress(answer.body)
        for name in (b"inuse_space", b"alloc_space", b"sf_"):
            assert name in profile, name
        assert own.get("/debug/pprof/profile?seconds=1").status == 200  # by the same copy


tap.run(sys.modules[__name__])
