"""server_rig.py - a real server for tests: start, kill and ask it; and spans of known content.

Standard library only. The program is $SPANFLAME; every server gets its own directory and free ports.
"""
import base64
import gzip
import http.client
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

SPANFLAME = os.environ.get("SPANFLAME", "")
SOURCE_ROOT = os.environ.get("SOURCE_ROOT", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))


def scale():
    try:
        return max(0.01, float(os.environ.get("CHECK_SCALE", "1")))
    except ValueError:
        return 1.0


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def scratch(prefix):
    """A folder to work in. In memory if there is plenty: kill -9 takes nothing from the kernel, and a thousand syncs
    of a busy disk would be most of the time."""
    base = None
    if os.path.isdir("/dev/shm"):
        space = os.statvfs("/dev/shm")
        if space.f_bavail * space.f_frsize > 4 << 30:
            base = "/dev/shm"
    return tempfile.mkdtemp(prefix=prefix, dir=base)


class Tap:
    """One line per promise."""

    def __init__(self):
        self.n = 0
        self.n_failed = 0

    def check(self, ok, name, detail=""):
        self.n += 1
        if not ok:
            self.n_failed += 1
        print(("ok" if ok else "not ok") + f" {self.n} - {name}")
        if detail and not ok:
            for line in str(detail).splitlines():
                print("# " + line)
        sys.stdout.flush()
        return ok

    def say(self, text):
        print("# " + text)
        sys.stdout.flush()

    def end(self):
        print(f"1..{self.n}")
        sys.stdout.flush()
        return 1 if self.n_failed else 0


class Gone(Exception):
    """The server closed, refused or did not answer: nobody knows what became of the request."""


class Client:
    """One connection, kept open; one thread."""

    def __init__(self, port, timeout=60):
        self.port = port
        self.timeout = timeout
        self.conn = None

    def call(self, method, path, body=None, headers=None):
        """(status, headers, body). Raises Gone."""
        try:
            if self.conn is None:
                self.conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
                self.conn.connect()
                self.conn.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.conn.request(method, path, body=body, headers=headers or {})
            answer = self.conn.getresponse()
            return answer.status, answer.headers, answer.read()
        except (OSError, http.client.HTTPException) as e:
            self.close()
            raise Gone(str(e)) from e

    def get_many(self, paths, accept="application/json"):
        """[(status, body)] of GETs that are all sent before the first answer is read. Raises Gone."""
        found = []
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=60) as s, s.makefile("rb") as answers:
                s.sendall("".join(f"GET {p} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: {accept}\r\n\r\n" for p in paths).encode())
                for _ in paths:
                    status = int(answers.readline().split()[1])
                    headers = http.client.parse_headers(answers)
                    if headers.get("Transfer-Encoding"):
                        raise Gone("an answer in chunks, which is not read here")
                    found.append((status, answers.read(int(headers["Content-Length"]))))
        except (OSError, IndexError, http.client.HTTPException) as e:
            raise Gone(str(e)) from e
        return found

    def close(self):
        if self.conn is not None:
            self.conn.close()
            self.conn = None


class Server:
    """A server on `data`. Starts anew after stop() or kill()."""

    def __init__(self, data, env=None, settings=None, program=None):
        self.data = data
        self.env = env
        self.settings = settings or {}
        self.program = program or [SPANFLAME]
        self.port = free_port()
        self.process = None
        self.log_path = data + ".log"

    def start(self, wait=True, timeout=300):
        argv = self.program + ["serve", "--data", self.data, "--listen", f"127.0.0.1:{self.port}"]
        for key, value in self.settings.items():
            argv += ["--set", f"{key}={value}"]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(argv, env=self.env, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        return self.wait_ready(timeout) if wait else True

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def ready(self, timeout=60):
        """(status, text); (0, why) when nobody answers. A query is not answered sooner because it waits less: on a busy machine
        five seconds were sometimes too few, and (0, "timed out") is no answer about the server."""
        client = Client(self.port, timeout=timeout)
        try:
            status, _, body = client.call("GET", "/ready")
            return status, body.decode("utf-8", "replace").strip()
        except Gone as e:
            return 0, str(e)
        finally:
            client.close()

    def wait_ready(self, timeout=300, want=200):
        until = time.monotonic() + timeout
        while time.monotonic() < until:
            if not self.is_alive():
                return False
            if self.ready()[0] == want:
                return True
            time.sleep(0.01)
        return False

    def kill(self):
        if self.process is not None:
            try:
                self.process.send_signal(signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()

    def wait_exit(self, timeout):
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None

    def stop(self, timeout=30):
        """The exit status after SIGTERM; None when it does not end."""
        if self.process is None:
            return None
        self.process.send_signal(signal.SIGTERM)
        code = self.wait_exit(timeout)
        if code is None:
            self.kill()
        return code

    def log_tail(self, n=25):
        try:
            with open(self.log_path, encoding="utf-8", errors="replace") as f:
                return "".join(f.readlines()[-n:])
        except OSError:
            return ""

    def client(self):
        return Client(self.port)


# --- spans ---

def _varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def _field(number, content):
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _fixed64(number, value):
    return _varint(number << 3 | 1) + struct.pack("<Q", value)


def _attribute(key, value):
    return _field(1, key.encode()) + _field(2, _field(1, value.encode()))


class Span:
    """What a test knows of a span. Its end and attribute follow from its ids."""
    __slots__ = ("trace", "id", "name", "start")

    def __init__(self, trace, span_id, name, start):
        self.trace, self.id, self.name, self.start = trace, span_id, name, start

    @property
    def end(self):
        return self.start + 1000 + self.id[0] * 1000

    @property
    def note(self):
        return "note " + "".join(chr(97 + b % 26) for b in self.id + self.trace)  # digits might look like a card's

    def pb(self):
        return (_field(1, self.trace) + _field(2, self.id) + _field(5, self.name.encode()) +
                _varint(6 << 3) + _varint(2) + _fixed64(7, self.start) + _fixed64(8, self.end) +
                _field(9, _attribute("note", self.note)))

    def json(self):
        return {"traceId": self.trace.hex(), "spanId": self.id.hex(), "name": self.name, "kind": 2,
                "startTimeUnixNano": str(self.start), "endTimeUnixNano": str(self.end),
                "attributes": [{"key": "note", "value": {"stringValue": self.note}}]}


def request_pb(service, spans):
    resource = _field(1, _attribute("service.name", service))
    return _field(1, _field(1, resource) + _field(2, b"".join(_field(2, s.pb()) for s in spans)))


def request_json(service, spans):
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return json.dumps({"resourceSpans": [{"resource": resource,
                                          "scopeSpans": [{"spans": [s.json() for s in spans]}]}]}).encode()


def make_request(rng, service, spans):
    """(body, headers): protobuf or JSON, plain or gzip."""
    is_json = rng.random() < 0.25
    body = request_json(service, spans) if is_json else request_pb(service, spans)
    headers = {"Content-Type": "application/json" if is_json else "application/x-protobuf"}
    if rng.random() < 0.3:
        body = gzip.compress(body, 1)
        headers["Content-Encoding"] = "gzip"
    return body, headers


def post(client, body, headers):
    """True: every span acknowledged. False: refused, send it again. Raises Gone, or AssertionError when the
    server found fault with what is right."""
    status, _, answer = client.call("POST", "/v1/traces", body, headers)
    if status in (429, 503):
        return False
    if status != 200:
        raise AssertionError(f"POST /v1/traces: {status} {answer[:200]!r}")
    if b"rejected" in answer or (headers["Content-Type"] == "application/x-protobuf" and answer):
        raise AssertionError(f"spans were refused: {answer[:200]!r}")
    return True


def new_trace(rng):
    return rng.getrandbits(128).to_bytes(16, "big")


def new_span(rng, trace, name, start=None):
    span_id = (rng.getrandbits(64) | 1).to_bytes(8, "big")
    return Span(trace, span_id, name, start if start is not None else time.time_ns())


def get_trace(client, trace):
    """Spans of a trace as the server gives them: a list of dicts; [] when there is no such trace."""
    status, _, body = client.call("GET", "/api/traces/" + trace.hex(), headers={"Accept": "application/json"})
    return spans_of(trace, status, body)


def get_traces(client, traces):
    """The same of many, asked for together; at most 16 wait for their answers at a time."""
    found = []
    for at in range(0, len(traces), 16):
        part = traces[at:at + 16]
        answers = client.get_many(["/api/traces/" + t.hex() for t in part])
        found += [spans_of(t, status, body) for t, (status, body) in zip(part, answers)]
    return found


def spans_of(trace, status, body):
    if status == 404:
        return []
    if status != 200:
        raise AssertionError(f"GET /api/traces/{trace.hex()}: {status} {body[:200]!r}")
    found = []
    for batch in json.loads(body).get("batches", []):
        for scope in batch.get("scopeSpans", []):
            found += scope.get("spans", [])
    return found


def faults_of_trace(found, spans):
    """Sentences on how `found` differs from what was acknowledged. Spans never acknowledged may be there too."""
    by_id = {}
    faults = []
    for s in found:
        by_id.setdefault(base64.b64decode(s["spanId"]), []).append(s)
    for span in spans:
        copies = by_id.get(span.id, [])
        if len(copies) != 1:
            faults.append(f"span {span.id.hex()} of trace {span.trace.hex()} ({span.name}) is there {len(copies)} times")
            continue
        got = copies[0]
        notes = [a["value"].get("stringValue") for a in got.get("attributes", []) if a["key"] == "note"]
        if (got.get("name") != span.name or int(got["startTimeUnixNano"]) != span.start or
                int(got["endTimeUnixNano"]) != span.end or notes != [span.note]):
            faults.append(f"span {span.id.hex()} of trace {span.trace.hex()} came back changed: {json.dumps(got)[:300]}")
    return faults


def seeded():
    """A generator whose seed is printed, and taken from $SEED; the short form takes the same one each time."""
    chosen = random.SystemRandom().randrange(1, 1 << 32) if scale() >= 1 else 1
    seed = int(os.environ.get("SEED", "0")) or chosen
    print(f"# SEED={seed}")
    return random.Random(seed)
