#!/usr/bin/env python3
"""What the server refuses under load, and in which order: baseline detail, other detail, profiles, spans. Free space is the
pressure that a test can set; the flood at the end is the one that senders make."""
import collections
import contextlib
import os
import re
import signal
import socket
import sys
import threading
import time

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]
from memory_group import most_mib  # noqa: E402
from pprof_make import otlp, pprof  # noqa: E402
from server import PB, TRACE_METHOD, Server, export_request, first, make_span, tap  # noqa: E402
from support.faultfs import faultfs  # noqa: E402

IS_SHORT = float(os.environ.get("CHECK_SCALE", "1")) < 1
SECONDS = 2 if IS_SHORT else float(os.environ.get("SHED_SECONDS", "120"))
TENANT = 'tenant="single-tenant"'
SMALL = "memory: 64MiB\nstore:\n  flush_interval: 1s\n"
# meson has the allocator fill what it hands out, so that pages count that nobody ever uses. Memory is measured as users have it.
PLAIN = {"MALLOC_PERTURB_": "0"}


MIN_FREE = 1 << 30


@contextlib.contextmanager
def server_at(level, ratio):
    """A server for which statvfs reports `ratio` times the space that must stay free, which is that level: the real free
    space changes with everything else on the machine that writes."""
    server = Server(f"retention:\n  min_free: {MIN_FREE}\n")
    disk = faultfs.Control(os.path.join(server.home, "disk"), os.path.join(os.environ["BUILD_ROOT"], "tests", "libfaultfs.so"))
    disk.set_free(int(MIN_FREE * ratio))
    server.env, server.wait = disk.env(server.env), False
    server.start()
    try:
        for _ in range(1000):
            with contextlib.suppress(OSError):
                if server.metric("spanflame_shed_level") == level:
                    break
            time.sleep(0.02)
        assert server.metric("spanflame_shed_level") == level
        yield server
    finally:
        server.kill()


def shed(server, what, family="spanflame_shed_total"):
    return server.metric(f'{family}{{{TENANT},what="{what}"}}')


def traces(server):
    """{name: (trace, span)} of a failed, a slow and a dull trace"""
    spans = {"failed": make_span(service="shop", error=True), "slow": make_span(service="shop", ms=1500),
             "dull": make_span(service="shop")}
    server.send(list(spans.values()))
    return {name: (s["trace_id"].hex(), s["span_id"].hex()) for name, s in spans.items()}


def push(server, ids):
    body = pprof({(f"main;{name}", (("span_id", span), ("trace_id", trace))): 10 for name, (trace, span) in ids.items()})
    return server.post("/api/v1/profile?service=shop", body, "application/octet-stream")


def with_detail(server, ids):
    found = set()
    for name, (_, span) in ids.items():
        answer = server.get(f"/api/v1/profile?service=shop&span_id={span}&format=folded")
        if answer.status == 200 and answer.text.startswith(f"main;{name} "):  # no estimate from the time alone
            found.add(name)
    return found


def totals(server):
    answer = server.get("/api/v1/profile?service=shop&format=folded")
    assert answer.status == 200, answer.text
    return {line.split(";")[1].split()[0] for line in answer.text.splitlines()}


def test_without_pressure_nothing_is_shed():
    with Server() as server:
        ids = traces(server)
        answer = push(server, ids)
        assert answer.status == 200 and "X-Spanflame-Shed" not in answer.headers, answer.headers
        assert with_detail(server, ids) == set(ids)


def test_level_1_takes_the_detail_of_dull_traces():
    with server_at(1, 1.18) as server:
        ids = traces(server)
        answer = push(server, ids)
        assert answer.status == 200 and answer.headers["X-Spanflame-Shed"] == "baseline_detail=1", answer.headers
        assert with_detail(server, ids) == {"failed", "slow"} and totals(server) == set(ids)
        assert (shed(server, "baseline_detail"), shed(server, "detail"), shed(server, "profiles"), shed(server, "spans")) == (1, 0, 0, 0)
        assert shed(server, "baseline_detail", "spanflame_shed_samples_total") == 1
        answer = server.post("/v1/profiles", otlp("other", {"main;x": 5}, (os.urandom(16), os.urandom(8))), PB)
        assert b"1 samples were stored without their span ids" in first(first(answer.body, 1), 2), answer.body
        # what belongs to one request is nothing but detail
        assert server.post("/api/v1/profile?service=shop&trace_id=" + "1" * 32, pprof({"main;one": 5})).status == 429
        server.stop(signal.SIGKILL)
        server.config, server.env, server.wait = "", None, True
        server.start()
        assert with_detail(server, ids) == {"failed", "slow"} and totals(server) == set(ids)


def test_level_2_takes_all_detail():
    with server_at(2, 1.09) as server:
        ids = traces(server)
        answer = push(server, ids)
        assert answer.status == 200, answer.text
        assert sorted(answer.headers.get_all("X-Spanflame-Shed")) == ["baseline_detail=1", "detail=2"], answer.headers
        assert with_detail(server, ids) == set() and totals(server) == set(ids)


def test_level_3_refuses_profiles_and_takes_spans():
    with server_at(3, 1.03) as server:
        ids = traces(server)
        answer = push(server, ids)
        assert answer.status == 429 and int(answer.headers["Retry-After"]) >= 1, answer.text
        status, _, details, _ = server.grpc_stream("/push.v1.PusherService/Push", b"", seconds=1)
        assert status == 8 and details, status
        assert (shed(server, "profiles"), shed(server, "spans")) == (2, 0)
        assert server.get("/api/traces/" + ids["dull"][0]).status == 200


def test_level_5_refuses_everything_and_keeps_what_was_acknowledged():
    with server_at(5, 0.5) as server:
        answer = server.post("/v1/traces", export_request([make_span()]))
        assert answer.status == 503 and int(answer.headers["Retry-After"]) >= 1, answer.text
        status, _, details, _ = server.grpc_stream(TRACE_METHOD, export_request([make_span()]), seconds=1)
        assert status == 14 and details, status
        assert shed(server, "spans") == 2


# ---- a flood ----

class Sender(threading.Thread):
    """Sends as fast as it can and never waits for Retry-After."""

    def __init__(self, server, end, profiles):
        super().__init__()
        self.server, self.end, self.profiles = server, end, profiles
        self.acked, self.answers, self.broken = [], {}, []
        self.refused = collections.Counter()  # by what was said

    def body(self):
        if self.profiles:
            stack = os.urandom(4).hex()
            return pprof({(f"main;{stack};f{i}", (("span_id", os.urandom(8).hex()),)): 5 for i in range(50)}, zipped=False), stack
        trace = os.urandom(16)
        return SPANS[0] + trace + SPANS[1], trace

    def run(self):
        path = "/api/v1/profile?service=flood" if self.profiles else "/v1/traces"
        sock = socket.create_connection(("127.0.0.1", self.server.port), timeout=120)
        stream = sock.makefile("rb")
        while time.monotonic() < self.end:
            body, key = self.body()
            sock.sendall(f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {PB}\r\nContent-Length: {len(body)}\r\n"
                         "Expect: 100-continue\r\n\r\n".encode())
            status, headers = int(stream.readline().split()[1]), {}
            if status == 100:  # what is refused costs its sender no body, so that a few of them make a flood
                stream.readline()
                sock.sendall(body)
                status = int(stream.readline().split()[1])
            while (line := stream.readline()) not in (b"\r\n", b""):
                name, value = line.decode("latin-1").split(":", 1)
                headers[name.lower()] = value.strip()
            answer = stream.read(int(headers.get("content-length", 0)))
            self.answers[status] = self.answers.get(status, 0) + 1
            if status == 200:
                self.acked.append(key)
                if answer and not self.profiles:  # a partial success nobody queried for
                    self.broken.append(answer)
            elif status not in (429, 503) or "retry-after" not in headers:
                self.broken.append((status, headers))
            else:
                self.refused[re.sub(rb"[^ -~]+", b"", answer)] += 1
            if headers.get("connection") == "close":
                sock.close()
                sock = socket.create_connection(("127.0.0.1", self.server.port), timeout=120)
                stream = sock.makefile("rb")
        sock.close()


def span_template():
    """A request of 2,000 spans; the bytes before and behind the trace id of the first."""
    mark = b"\x01TRACE-ID-HERE\x02\x03"
    spans = [make_span(trace=mark if i == 0 else None, service="flood", attributes={"noise": os.urandom(40).hex()})
             for i in range(2000)]
    before, behind = export_request(spans).split(mark)
    return before, behind


SPANS = span_template()


def offer(server, n_senders, seconds, kind_of=Sender):
    """Offers more than can be taken: (senders, {kind: {status: n}})"""
    end = time.monotonic() + seconds
    senders = [kind_of(server, end, profiles=i % 4 == 3) for i in range(n_senders)]
    for s in senders:
        s.start()
    for s in senders:
        s.join()
    counts = {"spans": {}, "profiles": {}}
    for s in senders:
        assert not s.broken, s.broken[0]
        kind = counts["profiles" if s.profiles else "spans"]
        for status, n in s.answers.items():
            kind[status] = kind.get(status, 0) + n
    print(f"# answers: {counts}")
    for answer, n in sum((s.refused for s in senders), collections.Counter()).most_common(4):
        print(f"# {n} times {answer}")
    return senders, counts


def memory_is_in_budget(server, mib, more=16):
    print(f"# resident at most: {most_mib(server):.0f} MiB of {mib}, the program itself included")
    assert most_mib(server) <= mib + more, most_mib(server)


def nothing_acknowledged_is_lost(server, senders):
    server.stop(signal.SIGKILL)
    server.env = None
    server.config = "memory: 8GiB\nlimits:\n  query_memory: 2GiB\n"  # what is stored is at issue, not what a small server can answer
    server.start()
    acked = [key for s in senders if not s.profiles for key in s.acked]
    for trace in acked[::max(1, len(acked) // 300)]:
        assert server.get("/api/traces/" + trace.hex()).status == 200, trace.hex()
    answer = server.get("/api/v1/profile?service=flood&format=folded&max_nodes=0", timeout=120)
    assert answer.status == 200, answer.text
    stacks = {line.split(";")[1] for line in answer.text.splitlines() if ";" in line}
    pushed = [key for s in senders if s.profiles for key in s.acked]
    missing = [key for key in pushed if key not in stacks]
    assert not missing or "other" in stacks, (len(missing), len(pushed), missing[:3])
    assert sum(int(line.rsplit(" ", 1)[1]) for line in answer.text.splitlines()) == 50 * 5 * len(pushed)
    server.stop()


def test_a_flood_is_slowed_or_refused_in_order_within_memory_and_loses_nothing_acknowledged():
    """Each sender waits for its answer: a server that is fast enough slows them down and refuses nothing."""
    server = Server(SMALL, env=PLAIN).start()
    senders, counts = offer(server, 4 if IS_SHORT else 16, SECONDS)
    refused = {kind: sum(n for status, n in of.items() if status != 200) for kind, of in counts.items()}
    assert shed(server, "spans") == refused["spans"] and shed(server, "profiles") + shed(server, "detail") >= refused["profiles"]
    if not IS_SHORT:  # the stated order: whatever came so far that spans were refused had refused profiles before
        assert refused["spans"] == 0 or refused["profiles"] > 0, counts
    offered = sum(sum(of.values()) for of in counts.values())
    print(f"# offered {offered / max(1, offered - sum(refused.values())):.1f} times what was taken")
    memory_is_in_budget(server, 64)
    nothing_acknowledged_is_lost(server, senders)


class StackSender(Sender):
    """Its profiles have a thousand stacks, functions and spans each that no other has: what is merged never gets less."""
    names, ids = b"XXXXXXXX", b"abcdef01"
    template = pprof({(f"main;XXXXXXXX;XXXXXXXXf{i}", (("span_id", f"abcdef01{i:08x}"),)): 5 for i in range(1000)}, zipped=False)

    def body(self):
        if not self.profiles:
            return super().body()
        stack = os.urandom(4).hex()
        return self.template.replace(self.names, stack.encode()).replace(self.ids, stack[::-1].encode()), stack


def test_stacks_that_repeat_nowhere_are_merged_within_memory():
    if IS_SHORT:
        print("# SKIP half a minute; make check-all")
        return
    server = Server(SMALL, env=PLAIN).start()
    senders, counts = offer(server, 12, SECONDS / 3, StackSender)
    assert counts["profiles"].get(200, 0) > 300, counts
    memory_is_in_budget(server, 64)
    answer = server.get("/api/v1/profile?service=flood&format=folded&max_nodes=1000", timeout=120)
    assert answer.status in (200, 413, 429, 504), answer.text
    spans = [key for s in senders if not s.profiles for key in s.acked]
    assert server.get("/api/traces/" + spans[-1].hex()).status == 200
    memory_is_in_budget(server, 64)
    server.stop()


def slow_disk():
    """A server whose disk takes a block in five seconds: what it can take in is what fits its memory in that time, and the
    rest of the machine can offer many times as much."""
    server = Server(SMALL, env=PLAIN)
    disk = faultfs.Control(os.path.join(server.home, "disk"), os.path.join(os.environ["BUILD_ROOT"], "tests", "libfaultfs.so"))
    server.env = disk.env(server.env)
    disk.count(faultfs.SYNC, path=os.path.join(server.data, "tmp") + "/")  # blocks are written there; the log stays fast
    disk.set_sync_delay(5000000)
    return server.start()


class Watch(threading.Thread):
    """When each kind was first shed, and which levels there were."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.first, self.levels, self.is_over = server, {}, set(), False

    def run(self):
        while not self.is_over:
            text = self.server.metrics()
            now = time.monotonic()
            self.levels.add(int(float(text.split("\nspanflame_shed_level ")[1].split()[0])))
            for what in ("baseline_detail", "detail", "profiles", "spans"):
                if f'what="{what}"' in text and self.server and float(
                        text.split(f'spanflame_shed_total{{{TENANT},what="{what}"}} ')[1].split()[0]) > 0:
                    self.first.setdefault(what, now)
            time.sleep(0.02)


def test_ten_times_the_capacity_for_minutes():
    if IS_SHORT or os.environ.get("SANITIZER", "none") != "none":
        print("# SKIP two minutes; make check-all")
        return
    server = slow_disk()
    watch = Watch(server)
    watch.start()
    senders, counts = offer(server, 192, SECONDS)  # each waits up to 2 s before it is refused
    watch.is_over = True
    watch.join()
    taken = {kind: of.get(200, 0) for kind, of in counts.items()}
    offered = {kind: sum(of.values()) for kind, of in counts.items()}
    times = sum(offered.values()) / max(1, sum(taken.values()))
    order = sorted(watch.first, key=watch.first.get)
    print(f"# offered {times:.1f} times what was taken, for {SECONDS} s; taken of spans {taken['spans']} of {offered['spans']}, "
          f"of profiles {taken['profiles']} of {offered['profiles']}; levels {sorted(watch.levels)}, first shed: {order}")
    # As stated: when spans are refused, so are profiles, and no larger share of them is taken; a half more is chance.
    assert "profiles" in watch.first and "spans" in watch.first and watch.first["profiles"] <= watch.first["spans"], watch.first
    assert 1.5 * taken["spans"] / offered["spans"] >= taken["profiles"] / offered["profiles"], (taken, offered)
    assert shed(server, "spans") == offered["spans"] - taken["spans"], counts
    memory_is_in_budget(server, 64)
    nothing_acknowledged_is_lost(server, senders)
    if times < 10:  # all the above holds; how much a machine can offer depends on what else it does
        raise tap.Skip(f"this machine could only offer {times:.1f} times of what was taken")


tap.run(sys.modules[__name__])
