#!/usr/bin/env python3
"""Bad input against the real server: each gets a bounded, clear answer, while a second client that behaves has every
request acknowledged and the server stays in its memory. The second client's p99 is printed beside the idle one."""
import http.client
import json
import os
import random
import re
import socket
import struct
import sys
import threading
import time
import zlib

sys.path.insert(0, os.path.dirname(__file__))
from server import (JSON, PB, TRACE_METHOD, Server, attribute, export_request, field, first, fixed64,  # noqa: E402
                    make_span, span_ids, span_message, tap)

SCALE = max(1, int(float(os.environ.get("CHECK_SCALE", "1"))))
IS_SHORT = float(os.environ.get("CHECK_SCALE", "1")) < 1
ENOUGH, LONGEST_S = (30, 0.5) if IS_SHORT else (100, 1.5 * SCALE)  # of the witness, for each attack
MEMORY_LEN = 256 << 20
N_MANY = 150 if IS_SHORT else 250  # connections of one attack; twice that are descriptors of this process
IMPATIENT = ["--memory", str(MEMORY_LEN), "--set", "limits.header_timeout=1s", "--set", "limits.body_timeout=1s"]
server = Server(flags=IMPATIENT).start()
rng = random.Random(7)


def memory_now_and_highest(of=server):
    with open(f"/proc/{of.process.pid}/status", encoding="utf-8") as f:
        text = f.read()
    return [int(re.search(name + r":\s+(\d+) kB", text)[1]) << 10 for name in ("VmRSS", "VmHWM")]


class Witness(threading.Thread):
    """The client that behaves: one connection, one small request after the other."""

    def __init__(self, to=server):
        super().__init__(daemon=True)
        self.to = to
        self.over = threading.Event()
        self.took, self.refused, self.last = [], [], None

    def run(self):
        conn = http.client.HTTPConnection("127.0.0.1", self.to.port, timeout=30)
        while not self.took and not self.refused or not self.over.is_set():
            span = make_span(service="witness")
            begin = time.perf_counter()
            try:
                conn.request("POST", "/v1/traces", export_request([span]), {"Content-Type": PB})
                answer = conn.getresponse()
                body = answer.read()
                self.took.append(time.perf_counter() - begin)
                if (answer.status, body) != (200, b""):
                    self.refused.append((answer.status, body))
            except OSError as e:
                self.refused.append(repr(e))
                break
            self.last = span
            time.sleep(0.003)
        conn.close()

    def p99_ms(self):
        return sorted(self.took)[-1 - len(self.took) // 100] * 1000

    def finish(self):
        self.over.set()
        self.join()
        assert not self.refused, (len(self.refused), self.refused[:3])
        assert span_ids(self.to.get("/api/traces/" + self.last["trace_id"].hex())) == [self.last["span_id"]]


def idle_p99_ms():
    witness = Witness()
    witness.start()
    time.sleep(0.3 if IS_SHORT else 1.0)
    witness.finish()
    return witness.p99_ms()


IDLE_MS = idle_p99_ms()


class Meanwhile:
    """`with Meanwhile("what") as attack:` the witness asks for as long as the block lasts."""

    def __init__(self, name, to=server):
        self.name, self.to, self.witness = name, to, Witness(to)

    def __enter__(self):
        self.witness.start()
        return self

    def rounds(self, at_most=1000000):
        """Again and again, until the witness has asked often enough to speak of a p99."""
        begin = time.monotonic()
        for i in range(at_most):
            if i and (len(self.witness.took) >= ENOUGH or time.monotonic() - begin > LONGEST_S):
                return
            yield i

    def __exit__(self, kind, *_):
        if kind:
            self.witness.over.set()
            return
        self.witness.finish()
        now, highest = memory_now_and_highest(self.to)
        print(f"# {self.name}: {len(self.witness.took)} requests of the other client acknowledged, p99 idle {IDLE_MS:.1f} ms, "
              f"attacked {self.witness.p99_ms():.1f} ms; resident {now >> 20} MiB, highest {highest >> 20} MiB")
        assert highest <= MEMORY_LEN, f"{highest >> 20} MiB resident"


def connect(to=server):
    return socket.create_connection(("127.0.0.1", to.port), 20)


def rest_of(conn, seconds=20):
    """What still comes until the other side closes; None when it does not in time."""
    got = b""
    conn.settimeout(seconds)
    try:
        while piece := conn.recv(65536):
            got += piece
    except socket.timeout:
        return None
    except OSError:
        pass  # reset
    return got


def exchange(data, seconds=20):
    """Sends bytes as they are, says no more, and reads to the end."""
    with connect() as conn:
        try:
            conn.sendall(data)
            conn.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        return rest_of(conn, seconds)


def head(n_body, more="", path="/v1/traces", content_type=PB):
    length = f"Content-Length: {n_body}\r\n" if n_body is not None else ""
    return f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Type: {content_type}\r\n{length}{more}\r\n".encode()


def in_threads(n, work):
    faults = []

    def run():
        try:
            work()
        except Exception as e:  # shown by the test that waits for us
            faults.append(e)
    threads = [threading.Thread(target=run, daemon=True) for _ in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
        assert not t.is_alive(), "still busy after a minute"
    if faults:
        raise faults[0]


def status_of(answer):
    found = re.match(rb"HTTP/1\.1 (\d+)", answer or b"")
    return int(found[1]) if found else None


# ---- bytes that mean nothing ----

def test_garbage_bytes_get_400_or_a_closed_door():
    seen = set()
    with Meanwhile("garbage") as attack:
        for i in attack.rounds():
            kind = i % 6
            data = (rng.randbytes(rng.randint(1, 5000)), b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + rng.randbytes(500),
                    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + rng.randbytes(600), b"GET " + rng.randbytes(50) + b"\r\n\r\n",
                    bytes(3000), b"POST /v1/traces HTTP/1.1\r\n" + rng.randbytes(200) + b"\r\n\r\n")[kind]
            answer = exchange(data)
            assert answer is not None, f"kind {kind}: the connection stays open"
            seen.add((kind, status_of(answer)))
    assert {status for _, status in seen} <= {None, 400, 404, 405, 431, 505}, seen


def test_bodies_of_garbage_get_400_with_the_place():
    with Meanwhile("garbage bodies") as attack:
        for i in attack.rounds():
            content_type, n = (PB, JSON)[i % 2], (1, 10, 1000, 300000)[i % 4]
            answer = server.post("/v1/traces", b"\xff" + rng.randbytes(n), content_type)
            assert answer.status == 400 and re.search(r"byte \d+|at \$", answer.text), (content_type, n, answer.text)


def test_wrong_types_encodings_and_methods_are_named():
    with Meanwhile("wrong types") as attack:
        for _ in attack.rounds():
            body = export_request([make_span()])
            for content_type in ("text/plain", "application/xml", "application/grpc", "", "a" * 3000):
                answer = server.post("/v1/traces", body, content_type)
                assert answer.status == 415 and "application/x-protobuf" in answer.text, (content_type, answer.status, answer.text)
            answer = server.post("/v1/traces", body, headers={"Content-Encoding": "br"})
            assert answer.status == 415 and "gzip" in answer.text, (answer.status, answer.text)
            answer = server.request("DELETE", "/v1/traces")
            assert answer.status == 405 and "POST" in answer.headers["Allow"], (answer.status, answer.text)
            for encoding in ("gzip", "zstd", "deflate"):
                answer = server.post("/v1/traces", body, headers={"Content-Encoding": encoding})
                assert answer.status == 400 and encoding in answer.text, (encoding, answer.status, answer.text)
            status, text, _, _ = server.grpc(TRACE_METHOD, body, ["grpc-encoding: snappy"], compressed=True)
            assert status == 12, (status, text)


# ---- lengths ----

def test_truncated_bodies_are_refused_or_forgotten():
    spans = [make_span() for _ in range(20)]
    whole = export_request(spans)
    packed = zlib.compressobj(wbits=31)
    packed = packed.compress(whole) + packed.flush()
    with Meanwhile("truncated bodies") as attack:
        for _ in attack.rounds():
            for cut in (1, len(whole) // 2, len(whole) - 1):
                answer = server.post("/v1/traces", whole[:cut])
                assert answer.status == 400, (cut, answer.status, answer.text)
            answer = server.post("/v1/traces", packed[:-10], headers={"Content-Encoding": "gzip"})
            assert answer.status == 400 and "gzip" in answer.text, (answer.status, answer.text)
            for data in (head(len(whole)) + whole[:-1],
                         head(None, "Transfer-Encoding: chunked\r\n") + f"{len(whole):x}\r\n".encode() + whole[:-1],
                         head(None, "Transfer-Encoding: chunked\r\n") + f"{len(whole):x}\r\n".encode() + whole + b"\r\n"):
                answer = exchange(data)
                assert status_of(answer) in (None, 400, 408), answer
            for span in spans:
                assert server.get("/api/traces/" + span["trace_id"].hex()).status == 404


def test_a_body_that_says_it_is_over_the_limit_is_refused_before_it_is_sent():
    with Meanwhile("announced lengths") as attack:
        for _ in attack.rounds():
            for length in ((64 << 20) + 1, 1 << 40, (1 << 63) - 1, 1 << 64, 10**30, -1, "0x10", "1, 2", "4 4"):
                answer = exchange(head(length) + b"x")
                assert status_of(answer) in (400, 413), (length, answer)
                assert not isinstance(length, int) or length != (64 << 20) + 1 or b"67108864 bytes" in answer, answer


def test_a_body_that_never_ends_is_refused_at_the_limit():
    chunk = b"100000\r\n" + bytes(1 << 20) + b"\r\n"

    def upload():
        with connect() as conn:
            conn.sendall(head(None, "Transfer-Encoding: chunked\r\n"))
            begin = time.monotonic()
            try:
                while time.monotonic() - begin < 30:
                    conn.sendall(chunk)
            except OSError:
                pass
            took = time.monotonic() - begin
            assert took < 30, "it took all that was sent"
            assert status_of(rest_of(conn)) in (413, None)  # a reset may overtake it
    with Meanwhile("endless bodies"):
        in_threads(2 if IS_SHORT else 4, upload)


def deflate_bomb(n_mib, wbits, first=b""):
    """A mebibyte of zeros that does not refer to what is before it, again and again. Its checksum is wrong: no reader comes that far."""
    packer = zlib.compressobj(wbits=wbits)
    head = packer.compress(first) + packer.flush(zlib.Z_FULL_FLUSH)
    return head + (packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)) * n_mib + packer.flush()


def zstd_bomb(n_mib, window_log=17):
    """Blocks that each say "128 KiB of this byte", by hand."""
    block = struct.pack("<I", 1 << 1 | (128 << 10) << 3)[:3] + b"\0"
    last = struct.pack("<I", 1 | 1 << 1 | (128 << 10) << 3)[:3] + b"\0"
    return b"\x28\xb5\x2f\xfd" + bytes([0, (window_log - 10) << 3]) + block * (n_mib * 8 - 1) + last


def test_compression_bombs_end_at_the_limit():
    bombs = {"gzip": deflate_bomb(300, 31), "zstd": zstd_bomb(4096), "deflate": deflate_bomb(70, 15)}
    print("# bombs of", ", ".join(f"{len(b)} B {n}" for n, b in bombs.items()))
    with Meanwhile("compression bombs"):
        def throw():
            for name, bomb in bombs.items():
                for content_type in (PB, JSON):
                    while True:
                        answer = server.post("/v1/traces", bomb, content_type, {"Content-Encoding": name})
                        if answer.status not in (429, 503):  # one who throws bombs may be told to wait
                            break
                        time.sleep(0.1)
                    # Zeros are not OTLP either; whichever is found first.
                    assert answer.status in (400, 413), (name, answer.status, answer.text)
        in_threads(3, throw)
        # A body that is OTLP up to the limit: one field of zeros that is skipped.
        prefix = field(100, b"")[:-1] + b"\x80\x80\x80\x80\x10"
        answer = server.post("/v1/traces", deflate_bomb(300, 31, prefix), headers={"Content-Encoding": "gzip"})
        assert answer.status == 413 and "inflates to more than 67108864 bytes" in answer.text, (answer.status, answer.text)
        status, text, details, _ = server.grpc(TRACE_METHOD, bombs["gzip"], ["grpc-encoding: gzip"], compressed=True)
        assert status == 8 and not details, (status, text, details)
        answer = server.post("/v1/traces", zstd_bomb(1, 31), headers={"Content-Encoding": "zstd"})
        assert answer.status in (400, 413), (answer.status, answer.text)  # requests a window of 2 GiB


# ---- OTLP that says absurd things ----

def partial(answer):
    """(rejected spans, sentence) of an OTLP protobuf answer"""
    assert answer.status == 200, (answer.status, answer.text)
    inner = first(answer.body, 1) or b""
    return first(inner, 1) or 0, (first(inner, 2) or b"").decode()


def test_ids_of_wrong_length_refuse_only_their_span():
    good = make_span()
    bad = [make_span(trace_id=os.urandom(n)) for n in (0, 1, 8, 15, 17, 32, 1000)] + \
        [make_span(span_id=os.urandom(n)) for n in (0, 1, 7, 9, 16, 1000)] + [make_span(bytes(16)), make_span(span_id=bytes(8))]
    with Meanwhile("wrong ids") as attack:
        for _ in attack.rounds():
            n, text = partial(server.post("/v1/traces", export_request([good] + bad)))
            assert n == len(bad) and "id" in text, (n, text)
            n, _ = partial(server.post("/v1/traces", export_request([make_span(parent=b"123")])))
            assert n in (0, 1), n
            assert span_ids(server.get("/api/traces/" + good["trace_id"].hex())) == [good["span_id"]]
            answer = server.post("/v1/traces", json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [
                {"traceId": "abc", "spanId": "zz", "name": "x"}]}]}]}), JSON)
            assert answer.status == 200 and json.loads(answer.body)["partialSuccess"]["rejectedSpans"] == "1", answer.text


def test_absurd_times_are_kept_or_refused_and_never_break_reading():
    top = (1 << 64) - 1
    now = time.time_ns()
    times = [(0, 0), (0, now), (now, 0), (top, top), (0, top), (1, 2), (now, now - 10**18 if now > 10**18 else 0),
             (now + 10**17, now + 10**17 + 5), (1 << 63, (1 << 63) + 1), ((1 << 63) - 1, 1 << 63)]
    with Meanwhile("absurd times") as attack:
        for _ in attack.rounds():
            trace = os.urandom(16)
            spans = [make_span(trace, start=a, end=b, name=f"{a}-{b}") for a, b in times]
            n, text = partial(server.post("/v1/traces", export_request(spans)))
            assert server.post("/api/v1/flush", b"", "application/json").status == 200
            for path in ("/api/traces/", "/api/v2/traces/", "/api/v1/trace/"):
                assert server.get(path + trace.hex()).status == 200, path
            kept = span_ids(server.get("/api/traces/" + trace.hex()))
            assert len(kept) == len(times) - n, (len(kept), n, text)
            assert server.get("/api/v1/services?from=0&until=now").status == 200
    print(f"# of {len(times)} spans with absurd times {len(kept)} were kept", text and f"({text})")


def test_a_million_attributes_are_cut_and_counted():
    now = time.time_ns()
    keys = [b"%07d" % i for i in range(1000000)]
    with Meanwhile("a million attributes"):
        for kind in (PB, JSON):
            trace = os.urandom(16)
            if kind == PB:
                attrs = b"\x4a\x0d\x0a\x07" + b"\x12\x02\x18\x01\x4a\x0d\x0a\x07".join(keys) + b"\x12\x02\x18\x01"
                span = field(1, trace) + field(2, os.urandom(8)) + field(5, "wide") + fixed64(7, now - 5) + fixed64(8, now) + attrs
                body = field(1, field(1, attribute(1, "service.name", "wide")) + field(2, field(2, span)))
            else:
                attrs = b'{"key":"' + b'","value":{"intValue":"1"}},{"key":"'.join(keys) + b'","value":{"intValue":"1"}}'
                body = (b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%s","spanId":"%s","name":"wide",'
                        b'"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[%s]}]}]}]}'
                        % (trace.hex().encode(), os.urandom(8).hex().encode(), now - 5, now, attrs))
            answer = server.post("/v1/traces", body, kind, timeout=60)
            assert answer.status == 200 and b"attribute" in answer.body, (kind, answer.status, answer.body[:300])
            span = server.json("/api/v1/trace/" + trace.hex())["spans"][0]
            assert len(span["attributes"]) == 1024, len(span["attributes"])
        # And spread over resources, events and links of many spans.
        attrs = b"".join(b"\x1a\x0d\x0a\x07%07d\x12\x02\x18\x01" % i for i in range(2000))
        spans = b"".join(field(2, span_message(make_span()) + field(11, fixed64(1, now) + field(2, "e") + attrs))
                         for _ in range(500))
        answer = server.post("/v1/traces", field(1, field(2, spans)), timeout=60)
        assert answer.status == 200, (answer.status, answer.text)


def test_values_nested_a_hundred_deep_are_dropped():
    now = time.time_ns()
    with Meanwhile("deep values") as attack:
        for _ in attack.rounds():
            for depth in (100, 10000):
                value = field(1, "end")
                for _ in range(depth):
                    value = field(5, field(1, value))  # an array in an array
                span = span_message(make_span()) + field(9, field(1, "deep") + field(2, value))
                answer = server.post("/v1/traces", field(1, field(2, field(2, span))))
                assert answer.status == 200 and b"attribute dropped" in answer.body, (depth, answer.status, answer.text)
                text = '{"stringValue":"end"}'
                for _ in range(depth):
                    text = '{"arrayValue":{"values":[' + text + "]}}"
                body = ('{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%s","spanId":"%s","name":"deep","startTimeUnixNano":'
                        '"%d","endTimeUnixNano":"%d","attributes":[{"key":"deep","value":%s}]}]}]}]}'
                        % (os.urandom(16).hex(), os.urandom(8).hex(), now - 5, now, text))
                answer = server.post("/v1/traces", body, JSON)
                want = (200, "attribute dropped") if depth == 100 else (400, "nested too deep")  # no JSON may be that deep
                assert answer.status == want[0] and want[1] in answer.text, (depth, answer.status, answer.text)
            answer = server.post("/v1/traces", b"[" * 1000000, JSON)
            assert answer.status == 400, answer.status


# ---- connections that do not behave ----

def test_slow_and_half_open_connections_are_cleared_away():
    body = export_request([make_span()])
    drips = {  # first bytes, and what comes every 0.2 s from then on
        "silent": (b"", b""), "half a line": (b"GET /ready HT", b"T"), "half a body": (head(10**6) + body, b"y"),
        "half a preface": (b"PRI * HTTP/2.0\r\n\r\nSM", b""), "half a chunk": (
            head(None, "Transfer-Encoding: chunked\r\n") + b"ffffff\r\nab", b"c")}
    with Server(flags=IMPATIENT + ["--set", "limits.total_timeout=3s"]) as s, Meanwhile("slow connections", s):
        conns = []
        for i in range(N_MANY):
            name = list(drips)[i % len(drips)]
            conns.append((name, connect(s)))
            conns[-1][1].sendall(drips[name][0])
        end = time.monotonic() + 5
        while time.monotonic() < end:
            for name, conn in conns:
                try:
                    conn.sendall(drips[name][1])
                except OSError:
                    pass
            time.sleep(0.2)
        for name, conn in conns:
            answer = rest_of(conn, 0.5)
            assert answer is not None, f"{name}: still open"
            assert status_of(answer) in (408, 504, None), (name, answer)
            conn.close()


def test_more_connections_than_the_limit_are_turned_away_and_room_comes_back():
    with Server(flags=["--set", "limits.connections=64"]) as s, Meanwhile("too many connections", s) as attack:
        while not attack.witness.took:
            time.sleep(0.01)  # it has its connection
        for _ in attack.rounds():
            conns = [connect(s) for _ in range(N_MANY)]
            time.sleep(0.2)
            n_shut = 0
            for conn in conns:
                conn.setblocking(False)
                try:
                    conn.recv(4096)  # nothing, or a 503 and then nothing
                    n_shut += 1
                except BlockingIOError:
                    pass
                except OSError:
                    n_shut += 1
                conn.close()
            assert n_shut >= N_MANY - 64, n_shut
        end = time.monotonic() + 10
        while True:
            try:
                s.send([make_span()])
                break
            except (OSError, http.client.HTTPException, AssertionError):
                assert time.monotonic() < end, "no room after the flood"
                time.sleep(0.05)


def test_answers_nobody_reads_do_not_pile_up():
    trace = os.urandom(16)
    server.send([make_span(trace, attributes={"text": "x" * 10000}) for _ in range(300)])
    ask = f"GET /api/traces/{trace.hex()} HTTP/1.1\r\nHost: h\r\n\r\n".encode()
    with Meanwhile("answers nobody reads"):
        conns = [connect() for _ in range(20)]
        for conn in conns:
            conn.sendall(ask * 200)
        time.sleep(2)
        for conn in conns:
            conn.close()


def test_header_floods_get_431_or_414():
    floods = {"many": b"".join(b"X-%d: y\r\n" % i for i in range(10000)), "one of a megabyte": b"X: " + b"y" * (1 << 20) + b"\r\n",
              "endless": b"X-Forever: " + b"z" * (3 << 20), "names": b"".join(b"%s: \r\n" % (b"N" * 500) for _ in range(500))}
    with Meanwhile("header floods") as attack:
        def flood():
            for name, lines in floods.items():
                with connect() as conn:
                    try:
                        conn.sendall(b"GET /ready HTTP/1.1\r\nHost: h\r\n" + lines + b"\r\n")
                    except OSError:
                        pass
                    answer = rest_of(conn)
                    assert status_of(answer) in (431, None), (name, answer)
            answer = exchange(b"GET /" + b"a" * 1000000 + b" HTTP/1.1\r\nHost: h\r\n\r\n")
            assert status_of(answer) in (414, None), answer
        for _ in attack.rounds():
            in_threads(4, flood)
        # Read before it is written: the answer is there, not lost in a reset.
        answer = exchange(b"GET /ready HTTP/1.1\r\nHost: h\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(200)) + b"\r\n")
        assert status_of(answer) == 431, answer


def test_long_request_lines_that_never_end_are_held_to_the_memory_of_bodies():
    line = b"GET /api/search?q=" + b"a" * 380000
    with Meanwhile("long request lines"):
        conns, n_refused = [connect() for _ in range(400)], 0
        for conn in conns:
            conn.settimeout(20)
            try:
                conn.sendall(line)
            except OSError:
                pass  # refused while it sends
        for conn in conns:
            conn.settimeout(0.01)
            try:
                answer = conn.recv(4096)
                n_refused += answer == b"" or status_of(answer) == 503
            except socket.timeout:
                pass  # one of those there is space for
            except OSError:
                n_refused += 1
            conn.close()
        assert n_refused > 300, n_refused
    with connect() as conn:  # and room comes back
        conn.sendall(line + b" HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        answer = rest_of(conn)
        assert status_of(answer) == 414 and b"longer than 131072" in answer, answer[:300]


# ---- HTTP/2 ----

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST, SETTINGS, PING, GOAWAY, WINDOW, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
POST = bytes([0x83, 0x86, 0x04, 10]) + b"/v1/traces" + bytes([0x01, 1]) + b"h" + bytes([0x0f, 0x10, len(PB)]) + PB.encode()


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def get(path):
    return bytes([0x82, 0x86, 0x04, len(path)]) + path.encode() + bytes([0x01, 1]) + b"h"


def goaway_code(data):
    """The error code of the last GOAWAY in what a server sent; None when there was none."""
    at, code = 0, None
    while at + 9 <= len(data):
        length = int.from_bytes(data[at:at + 3], "big")
        if data[at + 3] == GOAWAY and at + 17 <= len(data):
            code = int.from_bytes(data[at + 13:at + 17], "big")
        at += 9 + length
    return code


def h2_attack(name, pieces, codes, n_conns=3, may_stay=False):
    """Sends until the server has had enough; it must end the connection by itself."""
    seen = set()

    def run():
        with connect() as conn:
            got, dead = [], threading.Event()

            def read():
                got.append(rest_of(conn, 5 if may_stay else 30))
                dead.set()
            reader = threading.Thread(target=read, daemon=True)
            reader.start()
            try:
                conn.sendall(PREFACE + frame(SETTINGS, 0, 0))
                for piece in pieces():
                    if dead.is_set():
                        break
                    conn.sendall(piece)
            except OSError:
                pass
            reader.join(120)  # only a bound: it ends by the server's own time limits
            if may_stay and got == [None]:  # each of its streams was given up: it holds nothing
                return
            assert got and got[0] is not None, f"{name}: the connection is still open"
            seen.add(goaway_code(got[0]))
    with Meanwhile(name) as attack:
        for _ in attack.rounds(1 if IS_SHORT else 1000000):
            in_threads(n_conns, run)
    assert seen <= set(codes) | {None}, (name, seen)
    print(f"# {name}: ended with {sorted(str(c) for c in seen)}")


ENHANCE_YOUR_CALM = 11


def test_rapid_resets_end_the_connection():
    def pieces():
        for i in range(2000):
            yield b"".join(frame(HEADERS, 5, 1 + 2 * (i * 10 + j), get("/ready")) +
                           frame(RST, 0, 1 + 2 * (i * 10 + j), struct.pack(">I", 8)) for j in range(10))
    h2_attack("rapid reset", pieces, [ENHANCE_YOUR_CALM])


def test_settings_and_ping_floods_end_the_connection():
    def settings():
        for _ in range(5000):
            yield frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 65535)) * 10

    def pings():
        for _ in range(5000):
            yield frame(PING, 0, 0, b"12345678") * 10

    def empty():
        yield frame(HEADERS, 4, 1, POST)
        for _ in range(5000):
            yield frame(DATA, 0, 1) * 10
    h2_attack("settings flood", settings, [ENHANCE_YOUR_CALM])
    h2_attack("ping flood", pings, [ENHANCE_YOUR_CALM])
    h2_attack("empty data flood", empty, [ENHANCE_YOUR_CALM])


def test_continuations_and_header_bombs_end_the_connection():
    def endless():
        yield frame(HEADERS, 1, 1, get("/ready"))
        for i in range(3000):
            yield frame(CONTINUATION, 0, 1, b"\x00\x03x-y\x7f\x81\x02" + b"z" * 384)

    def empties():
        yield frame(HEADERS, 1, 1, get("/ready"))
        for _ in range(20000):
            yield frame(CONTINUATION, 0, 1) * 10

    def bomb():  # one entry of 4,000 bytes in the table, named again and again by one byte
        big = b"\x40\x01a\x7f" + bytes([0x80 | (3873 & 127), 3873 >> 7]) + b"b" * 4000
        for i in range(200):
            yield frame(HEADERS, 5, 1 + 2 * i, get("/ready") + (big if i == 0 else b"") + b"\xbe" * 12000)
        yield frame(GOAWAY, 0, 0, bytes(8))
    h2_attack("continuation flood", endless, [ENHANCE_YOUR_CALM, 1, 9])
    h2_attack("empty continuations", empties, [ENHANCE_YOUR_CALM, 1, 2, 9])
    h2_attack("header table bomb", bomb, [ENHANCE_YOUR_CALM, 0, 1, 9])


def test_window_games_end_or_hold_nothing():
    trace = os.urandom(16)
    server.send([make_span(trace, attributes={"text": "x" * 10000}) for _ in range(300)])

    def overflow():
        yield frame(WINDOW, 0, 0, struct.pack(">I", (1 << 31) - 1)) * 2

    def nothing():
        yield frame(WINDOW, 0, 0, bytes(4))

    def closed_window():  # a hundred large answers that may never be sent
        yield frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 0))
        for i in range(100):
            yield frame(HEADERS, 5, 1 + 2 * i, get("/api/traces/" + trace.hex()))

    def drip():
        yield frame(SETTINGS, 0, 0, struct.pack(">HI", 4, 1))
        for i in range(100):
            yield frame(HEADERS, 5, 1 + 2 * i, get("/api/traces/" + trace.hex()))
        for _ in range(40):
            time.sleep(0.05)
            yield b"".join(frame(WINDOW, 0, 1 + 2 * i, struct.pack(">I", 1)) for i in range(100))
    h2_attack("window overflow", overflow, [3])
    h2_attack("window of nothing", nothing, [1])
    h2_attack("closed window", closed_window, range(14), 2, may_stay=True)
    h2_attack("dripping window", drip, range(14), 2, may_stay=True)


def test_a_client_that_pings_in_moderation_is_left_alone():
    with connect() as conn:
        conn.sendall(PREFACE + frame(SETTINGS, 0, 0))
        for _ in range(150):
            conn.sendall(frame(PING, 0, 0, b"12345678"))
            time.sleep(0.01)
        conn.sendall(frame(HEADERS, 5, 1, get("/ready")))
        conn.settimeout(10)
        got = b""
        while b"ready\n" not in got:
            piece = conn.recv(65536)
            assert piece, "it was cut off"
            got += piece
        assert goaway_code(got) is None


def test_after_all_this_the_server_is_well():
    now, highest = memory_now_and_highest()
    print(f"# resident {now >> 20} MiB, highest {highest >> 20} MiB of {MEMORY_LEN >> 20} MiB")
    assert server.get("/ready").text == "ready\n", server.get("/ready").text
    assert highest <= MEMORY_LEN, highest
    span = make_span()
    server.send([span])
    assert server.post("/api/v1/flush", b"", "application/json").status == 200
    assert span_ids(server.get("/api/traces/" + span["trace_id"].hex())) == [span["span_id"]]
    log_len = os.path.getsize(server.log_path)
    assert log_len < 1 << 20, f"{log_len} bytes of log: a flood fills the disk"
    assert server.stop() == 0, server.log()[-2000:]


tap.run(sys.modules[__name__])
