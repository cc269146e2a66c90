"""recommend - what else one might buy; a service in Python with nothing but its standard library.

Planted here, with its switch:
  python  rank_by_similarity compares every pair of words again for every order: 8 ms of CPU

Spans go out as OTLP/HTTP in JSON, samples as pprof with the ids of the span that a thread was in. A thread reads the stacks of the
others about 250 times a second; the CPU time that a thread has used since is that stack's, and what is left at the end of a request
the last one's."""
import http.server
import json
import os
import random
import signal
import sys
import threading
import time
import urllib.parse
import urllib.request

SERVICE = "recommend"
RANK_S = 0.008
TICK_S = 0.004
ENDPOINT = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
WORDS = ["red chair", "green chair", "red table", "lamp", "long lamp", "shelf", "white shelf", "carpet"]

lock = threading.Lock()  # guards what follows
spans = []
active = {}  # thread -> Request
samples = {}  # (stack, trace, span) -> ns


def has(problem):
    """As in shop.c: records of 16 bytes, a name and at the end '1' or '0'."""
    try:
        with open(os.environ.get("SHOP_SWITCHES", ""), "rb") as f:
            records = f.read()
    except OSError:
        return True
    for at in range(0, len(records) - 15, 16):
        if records[at:at + 15].rstrip(b"\0").decode() == problem:
            return records[at + 15:at + 16] == b"1"
    return True


# ---- the work ----


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row, before = [i], row
        for j, y in enumerate(b, 1):
            row.append(min(row[-1] + 1, before[j] + 1, before[j - 1] + (x != y)))
    return row[-1]


def rank_by_similarity(order):
    best, end = "", time.thread_time() + RANK_S
    while time.thread_time() < end:
        best = min(WORDS, key=lambda w: distance(w, WORDS[order % len(WORDS)]))
    return best


def suggest(order):
    return rank_by_similarity(order) if has("python") else WORDS[order % len(WORDS)]


# ---- spans and samples ----


def ids_of(traceparent):
    parts = (traceparent or "").split("-")
    if len(parts) == 4 and len(parts[1]) == 32 and len(parts[2]) == 16:
        return parts[1], parts[2]
    return f"{random.getrandbits(128):032x}", ""


class Request:
    def __init__(self, trace, span, thread):
        self.trace, self.span, self.stack = trace, span, ()
        self.clock = time.pthread_getcpuclockid(thread)
        self.read_ns = time.clock_gettime_ns(self.clock)

    def charge(self, stack):
        """The CPU time since the last reading."""
        now_ns = time.clock_gettime_ns(self.clock)
        used, self.read_ns, self.stack = now_ns - self.read_ns, now_ns, stack
        if used > 0 and stack:
            key = (stack, self.trace, self.span)
            samples[key] = samples.get(key, 0) + used


def stack_of(frame):
    stack = []
    while frame:
        stack.append((frame.f_code.co_name, frame.f_code.co_filename, frame.f_lineno))
        frame = frame.f_back
    return tuple(stack)


def keep_sampling():
    while True:
        time.sleep(TICK_S)
        with lock:
            frames = sys._current_frames() if active else {}
            for thread, request in active.items():
                if thread in frames:
                    request.charge(stack_of(frames[thread]))


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def pprof(taken, begun_ns, length_ns):
    strings, places, out = {"": 0}, {}, b""

    def text(s):
        return strings.setdefault(s, len(strings))

    unit = field(1, text("cpu")) + field(2, text("nanoseconds"))
    out += field(1, unit)
    for (stack, trace, span), ns in taken.items():
        ids = b"".join(varint(places.setdefault(place, len(places) + 1)) for place in stack)
        labels = b"".join(field(3, field(1, text(k)) + field(2, text(v))) for k, v in (("trace_id", trace), ("span_id", span)))
        out += field(2, field(1, ids) + field(2, varint(ns)) + labels)
    for (name, file, line), i in places.items():
        out += field(4, field(1, i) + field(4, field(1, i) + field(2, line)))
        out += field(5, field(1, i) + field(2, text(name)) + field(4, text(file)))
    out += b"".join(field(6, s) for s in strings)
    return out + field(9, begun_ns) + field(10, length_ns) + field(11, unit) + field(12, int(TICK_S * 1e9))


def attribute(key, value):
    return {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}


def post(path, body, kind):
    headers = {"Content-Type": kind}
    for pair in filter(None, os.environ.get("OTEL_EXPORTER_OTLP_HEADERS", "").split(",")):
        key, _, value = pair.partition("=")
        headers[key] = urllib.parse.unquote(value)
    try:
        urllib.request.urlopen(urllib.request.Request(ENDPOINT + path, body, headers), timeout=10).close()
    except OSError as e:
        print(f"{SERVICE}: {path}: {e}", file=sys.stderr, flush=True)


def send(begun_ns):
    global spans, samples
    with lock:
        sent, taken = spans, samples
        spans, samples = [], {}
    if sent:
        resource = [attribute("service.name", SERVICE), attribute("telemetry.sdk.language", "python"), attribute("process.pid", os.getpid())]
        for pair in filter(None, os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "").split(",")):
            resource.append(attribute(*pair.split("=", 1)))
        body = {"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{"scope": {"name": SERVICE}, "spans": sent}]}]}
        post("/v1/traces", json.dumps(body).encode(), "application/json")
    if taken:
        post(f"/ingest?name={SERVICE}&format=pprof&spyName=demo", pprof(taken, begun_ns, time.time_ns() - begun_ns), "application/octet-stream")


def keep_sending():
    while True:
        begun_ns = time.time_ns()
        time.sleep(2)
        send(begun_ns)


# ---- the server ----


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path != "/suggest":
            return self.answer(200 if path == "/health" else 404, "")
        order = int(urllib.parse.parse_qs(query).get("order", ["0"])[0])
        trace, parent = ids_of(self.headers.get("traceparent"))
        span, thread, begun_ns = f"{random.getrandbits(64):016x}", threading.get_ident(), time.time_ns()
        with lock:
            active[thread] = Request(trace, span, thread)
        found = suggest(order)
        with lock:
            request = active.pop(thread)
            request.charge(request.stack)
            spans.append({"traceId": trace, "spanId": span, "parentSpanId": parent, "name": "GET /suggest", "kind": 2,
                          "startTimeUnixNano": str(begun_ns), "endTimeUnixNano": str(time.time_ns()),
                          "attributes": [attribute("http.request.method", "GET"), attribute("http.route", "/suggest"), attribute("shop.order", order),
                                         attribute("http.response.status_code", 200)]})
        self.answer(200, found)

    def answer(self, status, text):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("SHOP_PORT", "0"))), Handler)
    sys.setswitchinterval(0.0005)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    for work in (keep_sampling, keep_sending):
        threading.Thread(target=work, daemon=True).start()
    begun_ns = time.time_ns()
    try:
        server.serve_forever()
    finally:
        send(max(begun_ns, time.time_ns() - 2 * 10**9))


main()
