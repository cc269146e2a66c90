"""server.py - starts the real program on free ports in a directory of its own, and speaks to it.

Only the standard library and curl: HTTP/1.1 by http.client, HTTP/2 and gRPC by curl. Messages are
written and read by a few lines of protobuf, so that nothing of the server tests itself."""
import atexit
import glob
import http.client
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "tools"))
import tap  # noqa: E402,F401

PROGRAM = os.environ["SPANFLAME"]
TRACE_METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
PB, JSON = "application/x-protobuf", "application/json"
# How long a test waits for the server before it gives up. Not a statement about the server: with 24 other busy processes, an
# upload of 16 MiB takes more than 30 s.
PATIENCE_S = 300


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """`with Server() as s:` gives a server that is ready; `config` is YAML text."""

    def __init__(self, config="", flags=(), data=None, port=None, wait=True, env=None, has_listen=True, command="serve"):
        self.home = tempfile.mkdtemp(prefix="spanflame-flow-")
        atexit.register(shutil.rmtree, self.home, ignore_errors=True)  # after kill(), which is registered later
        self.data = data or os.path.join(self.home, "data")
        self.port = port or free_port()
        self.flags, self.config, self.wait = list(flags), config, wait
        self.command = command
        self.has_listen = has_listen  # False: the configuration says where
        self.env = dict(os.environ, **(env or {}))
        self.token = None
        self.process = None

    def start(self):
        assert not self.process or self.process.poll() is not None, "it runs already"
        args = [PROGRAM, self.command, "--data", self.data]
        if self.has_listen:
            args += ["--listen", f"127.0.0.1:{self.port}"]
        if self.config:
            path = os.path.join(self.home, "spanflame.yaml")
            with open(path, "w", encoding="utf-8") as f:
                f.write(self.config.replace("HOME", self.home))
            args += ["--config", path]
        self.log_path = os.path.join(self.home, "log")
        self.log_file = open(self.log_path, "ab")
        self.process = subprocess.Popen(args + self.flags, stderr=self.log_file, stdout=self.log_file,
                                        env=self.env)
        atexit.register(self.kill)
        if self.wait:
            self.wait_until_ready()
        return self

    def wait_until_ready(self, seconds=PATIENCE_S):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended with {self.process.returncode}:\n{self.log()}")
            try:
                if self.get("/ready", token=None).status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.02)
        raise AssertionError(f"not ready after {seconds} s:\n{self.log()}")

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def stop(self, sig=signal.SIGTERM, seconds=PATIENCE_S):
        self.process.send_signal(sig)
        code = self.process.wait(seconds)
        self.log_file.close()
        return code

    def damage(self, pattern, at=(0.5,)):
        """Stops the server and flips a bit in the middle of each block of that name, or at those shares of its length: *.sfs holds
        spans, *.sfp profiles. What nobody reads may be anywhere."""
        self.stop()
        blocks = glob.glob(os.path.join(self.data, "**", pattern), recursive=True)
        assert blocks, self.data
        for path in blocks:
            with open(path, "r+b") as f:
                for share in at:
                    f.seek(int(os.path.getsize(path) * share))
                    byte = f.read(1)[0]
                    f.seek(-1, os.SEEK_CUR)
                    f.write(bytes([byte ^ 1]))

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    # ---- HTTP/1.1 ----

    def request(self, method, path, body=None, headers=None, token="own", timeout=PATIENCE_S, address=None):
        """`address`: of the client, 127.0.0.x; without a token each is a client of its own."""
        headers = dict(headers or {})
        token = self.token if token == "own" else token
        if token:
            headers.setdefault("Authorization", f"Bearer {token}")
        conn = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout,
                                          source_address=(address, 0) if address else None)
        try:
            conn.request(method, path, body=body, headers=headers)
            answer = conn.getresponse()
            answer.body = answer.read()
            answer.text = answer.body.decode("utf-8", "replace")
            return answer
        finally:
            conn.close()

    def get(self, path, headers=None, **more):
        return self.request("GET", path, headers=headers, **more)

    def post(self, path, body, content_type=PB, headers=None, **more):
        return self.request("POST", path, body, dict(headers or {}, **{"Content-Type": content_type}), **more)

    def json(self, path, **more):
        answer = self.get(path, **more)
        assert answer.status == 200, (path, answer.status, answer.text)
        return json.loads(answer.body)

    def send(self, spans, **more):
        """OTLP protobuf; every span acknowledged or an assertion."""
        answer = self.post("/v1/traces", export_request(spans), **more)
        assert answer.status == 200 and answer.body == b"", (answer.status, answer.body)

    def metrics(self, headers=None):
        answer = self.get("/metrics", headers=headers)
        assert answer.status == 200, answer.text
        return answer.text

    def metric(self, line):
        """The value of a sample, by its name and labels as written; 0 when it is not there."""
        for text in self.metrics().splitlines():
            if text.startswith(line + " "):
                return float(text.split()[-1])
        return 0.0

    # ---- HTTP/2 and gRPC, by curl ----

    def curl(self, *args, path="/ready", data=None):
        """(exit code, header lines and trailers, body)"""
        with tempfile.TemporaryDirectory() as tmp:
            out, head = os.path.join(tmp, "out"), os.path.join(tmp, "head")
            command = ["curl", "-sS", "-o", out, "-D", head, *(args if "--max-time" in args else ("--max-time", str(PATIENCE_S), *args))]
            if data is not None:
                with open(os.path.join(tmp, "in"), "wb") as f:
                    f.write(data)
                command += ["--data-binary", "@" + os.path.join(tmp, "in")]
            done = subprocess.run(command + [f"http://127.0.0.1:{self.port}{path}"], capture_output=True,
                                  check=False)
            read = lambda p: open(p, "rb").read() if os.path.exists(p) else b""
            return done.returncode, read(head).decode("latin-1"), read(out)

    def grpc_stream(self, method, message, headers=(), compressed=False, seconds=5):
        """(grpc-status, grpc-message, details, [response messages])"""
        frame = bytes([compressed]) + struct.pack(">I", len(message)) + message
        args = ["--http2-prior-knowledge", "-H", "content-type: application/grpc", "-H", "te: trailers"]
        if self.token:
            args += ["-H", f"authorization: Bearer {self.token}"]
        for h in headers:
            args += ["-H", h]
        code, head, body = self.curl("--max-time", str(seconds), *args, path=method, data=frame)
        # curl 7.88 keeps waiting when a whole answer (a refusal) comes before it has sent its body.
        assert code == 0 or (code == 28 and "grpc-status" in head), (code, head)
        found = re.search(r"^grpc-status: *(\d+)", head, re.M)
        assert found, head
        text = re.search(r"^grpc-message: *(.*?)\r?$", head, re.M)
        details = re.search(r"^grpc-status-details-bin: *(.*?)\r?$", head, re.M)
        messages = []
        while body:
            flag, length = struct.unpack(">BI", body[:5])
            assert flag == 0 and length <= len(body) - 5, body
            messages.append(body[5:5 + length])
            body = body[5 + length:]
        return int(found[1]), text[1] if text else "", details[1] if details else "", messages

    def grpc(self, method, message, headers=(), compressed=False):
        """(grpc-status, grpc-message, details, response message)"""
        status, text, details, messages = self.grpc_stream(method, message, headers, compressed)
        assert len(messages) <= 1, messages
        return status, text, details, messages[0] if messages else b""


# ---- protobuf, as little as is needed ----

def varint(n):
    out = b""
    n &= (1 << 64) - 1
    while n >= 128:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    return varint(number << 3) + varint(value)


def fixed64(number, value):
    return varint(number << 3 | 1) + struct.pack("<Q", value)


def attribute(number, key, value):
    if isinstance(value, bool):
        inner = field(2, int(value))
    elif isinstance(value, int):
        inner = field(3, value % 2**64)
    elif isinstance(value, float):
        inner = varint(4 << 3 | 1) + struct.pack("<d", value)
    else:
        inner = field(1, value)
    return field(number, field(1, key) + field(2, inner))


def span_message(s):
    out = field(1, s["trace_id"]) + field(2, s["span_id"])
    if s.get("parent"):
        out += field(4, s["parent"])
    out += field(5, s.get("name", "op")) + field(6, s.get("kind", 2))
    out += fixed64(7, s["start"]) + fixed64(8, s["end"])
    for key, value in s.get("attributes", {}).items():
        out += attribute(9, key, value)
    if s.get("error"):
        out += field(15, field(3, 2))
    return out


def export_request(spans):
    """One ResourceSpans per service."""
    out = b""
    for service in dict.fromkeys(s.get("service", "web") for s in spans):
        inner = b"".join(field(2, span_message(s)) for s in spans if s.get("service", "web") == service)
        more = next(s.get("resource", {}) for s in spans if s.get("service", "web") == service)
        out += field(1, field(1, attribute(1, "service.name", service)
                              + b"".join(attribute(1, k, v) for k, v in more.items()))
                     + field(2, field(1, field(1, "flow")) + inner))
    return out


def make_span(trace=None, parent=None, ms=10, ago_ms=0, **more):
    end = time.time_ns() - ago_ms * 1000000
    return dict({"trace_id": trace or os.urandom(16), "span_id": os.urandom(8), "parent": parent,
                 "start": end - ms * 1000000, "end": end}, **more)


def json_request(spans):
    """The same as OTLP JSON."""
    def value(v):
        return ({"boolValue": v} if isinstance(v, bool) else {"intValue": str(v)} if isinstance(v, int)
                else {"doubleValue": v} if isinstance(v, float) else {"stringValue": v})
    return json.dumps({"resourceSpans": [
        {"resource": {"attributes": [{"key": "service.name", "value": value(s.get("service", "web"))}]},
         "scopeSpans": [{"scope": {"name": "flow"}, "spans": [{
             "traceId": s["trace_id"].hex(), "spanId": s["span_id"].hex(),
             "parentSpanId": (s.get("parent") or b"").hex(), "name": s.get("name", "op"), "kind": s.get("kind", 2),
             "startTimeUnixNano": str(s["start"]), "endTimeUnixNano": str(s["end"]),
             "attributes": [{"key": k, "value": value(v)} for k, v in s.get("attributes", {}).items()],
             "status": {"code": 2} if s.get("error") else {}}]}]} for s in spans]}).encode()


def fields(message):
    """[(number, value)] of a message: bytes for length-delimited fields, integers otherwise."""
    out, at = [], 0

    def read_varint():
        nonlocal at
        n = shift = 0
        while True:
            b = message[at]
            at += 1
            n |= (b & 127) << shift
            shift += 7
            if b < 128:
                return n
    while at < len(message):
        tag = read_varint()
        if tag & 7 == 0:
            out.append((tag >> 3, read_varint()))
        elif tag & 7 == 1:
            out.append((tag >> 3, struct.unpack("<Q", message[at:at + 8])[0]))
            at += 8
        elif tag & 7 == 5:
            out.append((tag >> 3, struct.unpack("<I", message[at:at + 4])[0]))
            at += 4
        else:
            n = read_varint()
            out.append((tag >> 3, message[at:at + n]))
            at += n
    return out


def is_in_share(trace, share):
    """Whether a trace is in a share of all, by its id: as docs/api.md says at GET /api/v1/keep/{trace}."""
    def mix(v):
        v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9 & 2**64 - 1
        v = (v ^ v >> 27) * 0x94d049bb133111eb & 2**64 - 1
        return v ^ v >> 31
    a, b = (int.from_bytes(trace[i:i + 8], "little") for i in (0, 8))
    return mix(mix(a + 0x9e3779b97f4a7c15 & 2**64 - 1) ^ b) * 10000 >> 64 < share * 10000


def first(message, number):
    return next((v for n, v in fields(message) if n == number), None)


def span_ids(answer):
    """Ids of all spans in a v1 JSON answer, as bytes."""
    import base64
    return sorted(base64.b64decode(s["spanId"]) for b in json.loads(answer.body).get("batches", [])
                  for ss in b["scopeSpans"] for s in ss["spans"])
