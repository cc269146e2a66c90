#!/usr/bin/env python3
"""Start, stop, restart, and what happens when a port or a directory is taken."""
import os
import pty
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))
from server import PB, PROGRAM, Server, export_request, field, free_port, make_span, span_ids, tap  # noqa: E402


def test_one_line_says_ready_and_where():
    with Server() as s:
        for _ in range(100):  # /ready may answer a moment before the line is written
            lines = [line for line in s.log().splitlines() if "is ready" in line]
            if lines:
                break
            time.sleep(0.02)
        assert len(lines) == 1 and f"127.0.0.1:{s.port}" in lines[0], s.log()
        assert re.match(r'ts=\S+ level=info msg="spanflame ', lines[0]), lines[0]
        assert f" data={os.path.realpath(s.data)} " in lines[0], lines[0]


def test_a_server_without_data_says_where_it_writes():
    with tempfile.TemporaryDirectory() as here:
        process = subprocess.Popen([PROGRAM, "serve", "--listen", "127.0.0.1:0"], cwd=here, stderr=subprocess.PIPE, text=True)
        try:
            line = next(line for line in process.stderr if "is ready" in line)
            assert f" data={os.path.realpath(here)}/spanflame-data " in line, line
        finally:
            process.terminate()
            process.wait()
            process.stderr.close()


def test_a_terminal_gets_lines_for_people():
    ours, theirs = pty.openpty()
    with tempfile.TemporaryDirectory() as data:
        process = subprocess.Popen([PROGRAM, "serve", "--data", data, "--listen", "127.0.0.1:0"], stdin=subprocess.DEVNULL,
                                   stdout=theirs, stderr=theirs)
        os.close(theirs)
        said = b""
        while b"is ready" not in said or not said.endswith(b"\n"):
            said += os.read(ours, 4096)
        process.terminate()
        assert process.wait(30) == 0, said
        os.close(ours)
    assert b"is ready: " in said and b"level=" not in said and b"ts=" not in said, said


def test_a_busy_port_exits_1_naming_owner_and_fix():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        s = Server(port=port, wait=False).start()
        code = s.process.wait(20)
        log = s.log()
        s.__exit__()
        assert code == 1, code
        assert f"port {port} is in use (by pid {os.getpid()})" in log, log
        assert re.search(r"--listen 127\.0\.0\.1:\d+", log), log


def test_ipv6_and_several_addresses_work():
    if not socket.has_ipv6:
        raise tap.Skip("no IPv6 here")
    port = free_port()
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", port))
    except OSError:
        raise tap.Skip("no ::1 here")
    with Server(flags=["--listen", f"[::1]:{port}"]):
        with socket.create_connection(("::1", port), 5) as c:
            c.sendall(b"GET /api/echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = b""
            while piece := c.recv(4096):
                answer += piece
        assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"echo\n")


def test_bad_flags_and_bad_configuration_name_the_nearest_word():
    for args, want in ((["serve", "--lisen", "x"], "--listen"), (["srve"], "serve")):
        done = subprocess.run([PROGRAM] + args, capture_output=True, text=True, timeout=20, check=False)
        assert done.returncode == 2 and want in done.stderr, (done.returncode, done.stderr)
    s = Server("retenton:\n  spans: 7d\n", wait=False).start()
    assert s.process.wait(20) == 1 and "retention" in s.log() and ":1" in s.log(), s.log()
    s.__exit__()


def test_server_is_an_alias_of_serve():
    done = subprocess.run([PROGRAM, "server", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "--listen" in done.stdout


def test_sigterm_answers_what_is_in_flight_and_exits_0():
    with Server() as s:
        acked, refused, stop = [], [], threading.Event()

        def send():
            while not stop.is_set():
                span = make_span()
                try:
                    answer = s.post("/v1/traces", export_request([span]))
                except OSError:
                    refused.append(0)
                    return
                (acked if answer.status == 200 else refused).append(span)
        threads = [threading.Thread(target=send) for _ in range(4)]
        for t in threads:
            t.start()
        for _ in range(600):
            if len(acked) > 20:
                break
            time.sleep(0.05)
        code = s.stop()
        stop.set()
        for t in threads:
            t.join()
        assert code == 0, (code, s.log())
        assert len(acked) > 10, len(acked)
        assert "server: stopped" in s.log()
        s.start()
        for span in acked:
            assert span_ids(s.get("/api/traces/" + span["trace_id"].hex())) == [span["span_id"]]


def test_acknowledged_spans_survive_kill_9():
    with Server() as s:
        acked = []
        for _ in range(3):
            for _ in range(40):
                span = make_span()
                s.send([span])
                acked.append(span)
            s.process.kill()
            s.process.wait()
            s.start()
        for span in acked:
            assert span_ids(s.get("/api/traces/" + span["trace_id"].hex())) == [span["span_id"]]


def test_data_becomes_a_block_when_the_configuration_says():
    with Server(config="store: {flush_interval: 1s}\n") as s:
        s.send([make_span()])
        for _ in range(600):  # the default would take a minute
            blocks = [f for _, _, files in os.walk(os.path.join(s.data, "spans")) for f in files]
            if blocks:
                break
            time.sleep(0.05)
        assert len(blocks) == 1, blocks


def test_a_second_server_on_the_same_directory_is_refused():
    with Server() as s:
        other = Server(data=s.data, wait=False).start()
        assert other.process.wait(30) == 1, other.log()
        assert s.data in other.log(), other.log()
        other.__exit__()
        assert s.get("/ready").status == 200


def test_a_second_signal_ends_it_at_once():
    with Server() as s:
        # A request whose body never ends keeps the drain waiting.
        c = socket.create_connection(("127.0.0.1", s.port))
        c.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
                  b"Content-Length: 100\r\n\r\nabc")
        time.sleep(0.2)
        began = time.monotonic()
        s.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        s.process.send_signal(signal.SIGTERM)
        s.process.wait(10)
        c.close()
        assert time.monotonic() - began < 5


def test_ready_says_stopping_or_nothing_while_it_ends():
    with Server() as s:
        c = socket.create_connection(("127.0.0.1", s.port))
        idle = socket.create_connection(("127.0.0.1", s.port))
        c.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-protobuf\r\n"
                  b"Content-Length: 100\r\n\r\nabc")
        time.sleep(0.2)
        s.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        try:
            assert s.get("/ready").status == 503
        except OSError:
            pass  # no longer listening: just as clear
        c.close()
        idle.close()
        assert s.process.wait(30) == 0


def test_a_flood_is_pushed_back_and_forgotten():
    """More work than fits: every answer is 200 or 429/503 with Retry-After; then all is well again."""
    with Server(flags=["--memory", "64MiB"]) as s:
        body = export_request([make_span(attributes={"text": os.urandom(100).hex()}) for _ in range(2000)])
        statuses, lock = {}, threading.Lock()

        def send():
            import http.client
            conn = http.client.HTTPConnection("127.0.0.1", s.port, timeout=60)
            for _ in range(12):
                # An unknown field makes each request a new one: a repeated body would just be recognised.
                conn.request("POST", "/v1/traces", body + field(15, os.urandom(8)), {"Content-Type": PB})
                answer = conn.getresponse()
                text = answer.read()
                with lock:
                    statuses[answer.status] = statuses.get(answer.status, 0) + 1
                if answer.status != 200:
                    assert answer.status in (429, 503), (answer.status, text)
                    assert int(answer.headers["Retry-After"]) > 0
            conn.close()
        threads = [threading.Thread(target=send) for _ in range(16)]
        for t in threads:
            t.start()
        probes = []
        while any(t.is_alive() for t in threads):
            began = time.monotonic()
            assert s.get("/ready").status in (200, 503)
            probes.append(time.monotonic() - began)
        for t in threads:
            t.join()
        print(f"# answers {statuses}, slowest /ready {max(probes) * 1000:.0f} ms")
        assert sum(statuses.values()) == 16 * 12 and statuses.get(200, 0) > 0
        for _ in range(100):
            if s.post("/v1/traces", export_request([make_span()])).status == 200:
                break
            time.sleep(0.1)
        assert s.post("/v1/traces", export_request([make_span()])).status == 200


tap.run(sys.modules[__name__])
