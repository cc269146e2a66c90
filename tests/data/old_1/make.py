#!/usr/bin/env python3
"""make.py - wrote data.tar.xz and its golden answers, once. README.md says with which commit, and why never again.

The server runs on a clock of its own (tests/support/faultfs), so that all times are fixed and every block gets the level
and the age it should have."""
import base64
import errno
import gzip
import json
import os
import signal
import struct
import sys
import tarfile
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, "..", "..", ".."))
os.environ.setdefault("SOURCE_ROOT", ROOT)
os.environ.setdefault("BUILD_ROOT", os.path.join(ROOT, "build"))
os.environ.setdefault("SPANFLAME", os.path.join(ROOT, "build", "spanflame"))
sys.path[:0] = [os.path.join(ROOT, "tests", "flow"), os.path.join(ROOT, "tests")]
import old_data  # noqa: E402
from pprof_make import Strings, packed, pprof  # noqa: E402
from server import JSON, PB, Server, attribute, export_request, field, fixed64  # noqa: E402
from support.faultfs import faultfs  # noqa: E402

S, MS = 10**9, 10**6
A, B = old_data.A, old_data.B
# Data older than two days becomes 10-minute sums, older than seven loses its samples of single spans.
CONFIG = """tenancy: {enabled: true}
retention: {spans: 30d, profiles: 30d, full_resolution: 2d, detail: 7d, max_bytes: 0, min_free: 1MB}
store: {flush_interval: 10m}
"""


# ---- spans, as OTLP JSON ----

def value(v):
    if isinstance(v, bool):
        return {"boolValue": v}
    if isinstance(v, int):
        return {"intValue": str(v)}
    if isinstance(v, float):
        return {"doubleValue": v}
    if isinstance(v, bytes):
        return {"bytesValue": base64.b64encode(v).decode()}
    if isinstance(v, list):
        return {"arrayValue": {"values": [value(x) for x in v]}}
    if isinstance(v, dict):
        return {"kvlistValue": {"values": attrs(v)}}
    return {"stringValue": v}


def attrs(of):
    return [{"key": k, "value": value(v)} for k, v in of.items()]


def span(trace, own, name, start, end, parent="", kind=1, attributes=None, **more):
    return dict({"traceId": trace, "spanId": own, "parentSpanId": parent, "name": name, "kind": kind,
                 "startTimeUnixNano": str(start), "endTimeUnixNano": str(end), "attributes": attrs(attributes or {})}, **more)


def resource(service, spans, **more):
    return {"resource": {"attributes": attrs({"service.name": service, "service.instance.id": service + "-1", **more})},
            "schemaUrl": "https://opentelemetry.io/schemas/1.24.0",
            "scopeSpans": [{"scope": {"name": "flow", "version": "1.2", "attributes": attrs({"scope.key": "scope value"})},
                            "spans": spans}]}


# ---- OTLP profiles 1.10 with times, threads, states and links ----

def otlp_profile(service, what, unit, samples, start, seconds=10, period=0, more=None):
    """samples: dicts with stack, values, and times, thread, state, link (trace, span) when they have any."""
    strings = Strings()
    strings[""]
    functions, locations, stacks, links, table = [b""], [b""], [b""], [b""], [b""]
    places, known = {}, {}

    def attr(key, val):
        if (key, val) not in known:
            inner = field(3, val) if isinstance(val, int) else field(1, val)
            table.append(field(1, strings[key]) + field(2, inner))
            known[key, val] = len(table) - 1
        return known[key, val]
    out = b""
    for s in samples:
        ids = []
        for name in reversed(s["stack"].split(";")):
            if name not in places:
                functions.append(field(1, strings[name]) + field(3, strings[name.split(".")[0] + ".c"]))
                locations.append(field(3, field(1, len(functions) - 1) + field(2, 10 + len(functions))))
                places[name] = len(locations) - 1
            ids.append(places[name])
        stacks.append(packed(1, ids))
        body = field(1, len(stacks) - 1)
        own = [attr(k, s[n]) for k, n in (("thread.id", "thread"), ("thread.name", "thread_name"), ("thread.state", "state")) if n in s]
        body += packed(2, own)
        if "link" in s:
            links.append(field(1, bytes.fromhex(s["link"][0])) + field(2, bytes.fromhex(s["link"][1])))
            body += field(3, len(links) - 1)
        body += packed(4, s["values"])
        if "times" in s:
            body += field(5, b"".join(struct.pack("<Q", t) for t in s["times"]))
        out += field(2, body)
    profile = field(1, field(1, strings[what]) + field(2, strings[unit])) + out + fixed64(3, start) + field(4, seconds * S)
    if period:
        profile += field(5, field(1, strings[what]) + field(2, strings[unit])) + field(6, period)
    owner = attribute(1, "service.name", service) + attribute(1, "service.instance.id", service + "-1")
    owner += b"".join(attribute(1, k, v) for k, v in (more or {}).items())
    tables = field(1, b"") + b"".join(field(2, x) for x in locations) + b"".join(field(3, x) for x in functions)
    tables += b"".join(field(4, x) for x in links) + b"".join(field(5, x) for x in strings)
    tables += b"".join(field(6, x) for x in table) + b"".join(field(7, x) for x in stacks)
    return field(1, field(1, owner) + field(2, field(2, profile))) + field(2, tables)


# ---- the server ----

class Maker:
    def __init__(self, data):
        self.folder = os.path.dirname(data)
        self.faults = faultfs.Control(os.path.join(self.folder, "faults"), old_data.SHIM)
        self.faults.set_clock(old_data.MADE - time.time())
        self.server = Server(CONFIG, data=data, env=self.faults.env()).start()

    def post(self, path, body, content_type, tenant, **more):
        answer = self.server.post(path, body, content_type, headers={"X-Scope-OrgID": tenant, **more})
        assert answer.status == 200, (path, answer.status, answer.text)
        return answer

    def spans(self, resources, tenant=A):
        answer = self.post("/v1/traces", json.dumps({"resourceSpans": resources}), JSON, tenant)
        assert json.loads(answer.body) == {}, answer.text

    def profile(self, service, body, tenant=A, more=""):
        answer = self.post(f"/api/v1/profile?service={service}&label=service.instance.id={service}-1{more}", body, PB, tenant)
        told = json.loads(answer.body)
        assert not set(told) - {"profiles", "series", "samples"}, told

    def timed(self, body, tenant=A):
        answer = self.post("/v1development/profiles", body, PB, tenant)
        assert answer.body == b"", answer.body

    def flush(self):
        assert self.server.post("/api/v1/flush", b"", "application/json", headers={"X-Scope-OrgID": A}).status == 200

    def wait(self, what, is_so):
        for _ in range(600):
            if is_so(old_data.blocks(self.server.data)):
                return
            time.sleep(0.05)
        raise AssertionError(f"{what}: {old_data.blocks(self.server.data)}\n{self.server.log()}")


def scratch(m, base, n, tenant=A):
    """A service that is in every block: erasing it later has all of them rewritten."""
    m.spans([resource("scratch", [span(f"5c{n:030x}", f"5c{n:014x}", "scratch", base, base + 5 * MS)])], tenant)
    m.profile("scratch", pprof({("main;scratch", (("span_id", f"5c{n:014x}"),)): 5 * MS}, when=base), tenant)


def late(m, p, n, base, tenant=A):
    m.spans([resource("shop", [span(p.trace(n), p.span(n), "late", base, base + 30 * MS, "", 2)])], tenant)


def checkout(m, p, base, tenant):
    """A request through three processes: attributes of every type, events, links, errors, a message that is consumed later."""
    t, i = p.trace(1), p.span
    m.spans([
        resource("gateway", [
            span(t, i(1), "GET /checkout", base, base + 200 * MS, kind=2, traceState="vendor=a:1", flags=257,
                 attributes={"http.request.method": "GET", "http.response.status_code": 500, "http.route": "/checkout",
                             "is.first": True, "load": 0.75, "tags": ["a", "b"], "nested": {"x": 1, "y": "z"}, "raw": b"\0\1\2"},
                 status={"code": 2, "message": "the shop failed"}),
            span(t, i(2), "POST shop", base + 10 * MS, base + 190 * MS, i(1), 3, {"peer.service": "shop"})],
            **{"deployment.environment": "prod", "telemetry.sdk.language": "go", "k8s.pod.name": "gateway-7"}),
        resource("shop", [
            span(t, i(3), "order.calculate_totals", base + 20 * MS, base + 180 * MS, i(2), 2, {"order.items": 3, "customer": "anna"},
                 events=[{"timeUnixNano": str(base + 30 * MS), "name": "priced", "attributes": attrs({"rules": 12})}]),
            span(t, i(4), "pay", base + 60 * MS, base + 100 * MS, i(3), 1, {"thread.id": 7}),
            span(t, i(5), "SELECT orders", base + 110 * MS, base + 140 * MS, i(3), 3,
                 {"db.system": "sqlite", "db.query.text": "SELECT * FROM orders WHERE id = ?"}, status={"code": 2, "message": "busy"},
                 events=[{"timeUnixNano": str(base + 139 * MS), "name": "exception",
                          "attributes": attrs({"exception.type": "Busy", "exception.message": "database is locked"})}]),
            span(t, i(6), "send order", base + 150 * MS, base + 155 * MS, i(3), 4, {"messaging.system": "kafka"})],
            **{"deployment.environment": "prod", "telemetry.sdk.language": "cpp", "service.version": f"1.{p.number}"})], tenant)
    m.spans([resource("mailer", [
        span(t, i(7), "receive order", base + 300 * MS, base + 350 * MS, i(6), 5, {"messaging.system": "kafka"},
             links=[{"traceId": p.trace(2), "spanId": i(8), "traceState": "l=1", "attributes": attrs({"why": "batch"})}]),
        span(p.trace(2), i(8), "collect batch", base + 250 * MS, base + 400 * MS, "", 1)])], tenant)


def shop_profiles(m, p, base, tenant, start=0, n=6):
    """CPU time, each sample with the id of its span; then others without ids, so that a slot of ten minutes has a sum."""
    for k in range(start, start + n):
        stacks = {("main;serve;idle_loop", ()): (k + 1) * 10 * MS}
        if k == 0:
            stacks.update({("main;serve;rules;regex.match", (("span_id", p.span(3)),)): 40 * MS,
                           ("main;serve;sum", (("span_id", p.span(3)),)): 20 * MS,
                           ("main;serve;sign", (("span_id", p.span(4)), ("thread_id", "7"))): 30 * MS,
                           ("main;serve;sqlite3_step", (("span_id", p.span(5)), ("trace_id", p.trace(1)))): 10 * MS})
        m.profile("shop", pprof(stacks, when=base + (60 * k - 2) * S), tenant, f"&label=env={'prod' if k % 2 == 0 else 'test'}")


def kinds(m, p, base, tenant):
    """Heap, allocations, locks and a unit nobody knows; folded text through Pyroscope's door."""
    for what, unit, stacks in (
            ("inuse_space", "bytes", {("main;cache;grow", ()): 5 << 20, ("main;read;buffer", ()): 3 << 20}),
            ("alloc_objects", "count", {("main;read;parse", (("span_id", p.span(3)),)): 1200, ("main;sign", (("span_id", p.span(4)),)): 34}),
            ("mutex", "nanoseconds", {("main;serve;rules;pthread_mutex_lock", (("span_id", p.span(3)),)): 15 * MS,
                                      ("main;serve;sign;pthread_mutex_lock", (("span_id", p.span(4)),)): 2 * MS}),
            ("gpu_cycles", "cycles", {("main;shade;kernel", (("span_id", p.span(4)),)): 123456})):
        m.profile("shop", pprof(stacks, sample_type=what, unit=unit, when=base - 2 * S), tenant)
    at = base // S
    m.post(f"/ingest?name=legacy{{region=eu,tier=2}}&from={at}&until={at + 10}&sampleRate=100&format=folded",
           b"main;old;loop 30\nmain;old;wait 12\n", "text/plain", tenant)


def worker(m, p, base):
    """Samples with moments, threads and states; waits with a beginning and an end; all joined by links and by time."""
    t, i = p.trace(3), p.span
    m.spans([resource("worker", [
        span(t, i(21), "job", base, base + 100 * MS, "", 5, {"thread.id": 11}),
        span(t, i(22), "load", base + 10 * MS, base + 40 * MS, i(21), 1, {"thread.id": 11}),
        span(t, i(23), "store", base + 50 * MS, base + 90 * MS, i(21), 1,
             {"thread.id": 11, "thread.cpu_time_ns": 12 * MS, "thread.run_queue_ns": 2 * MS})],
        **{"telemetry.sdk.language": "cpp"})])
    own, load, store = (t, i(21)), (t, i(22)), (t, i(23))
    at = [base + 2 * MS, base + 6 * MS]
    m.timed(otlp_profile("worker", "cpu", "nanoseconds", [
        {"stack": "main;job;plan", "values": [10 * MS, 10 * MS], "times": at, "thread": 11, "thread_name": "pool-1", "link": own},
        {"stack": "main;job;load;decode", "values": [10 * MS] * 2, "times": [base + 15 * MS, base + 25 * MS], "thread": 11, "link": load},
        {"stack": "main;job;store;pack", "values": [10 * MS], "times": [base + 55 * MS], "thread": 11, "link": store},
        {"stack": "main;other", "values": [10 * MS], "times": [base + 57 * MS], "thread": 12}], base - S, period=10 * MS))
    m.timed(otlp_profile("worker", "off_cpu", "nanoseconds", [
        {"stack": "main;job;store;pthread_mutex_lock", "values": [8 * MS], "times": [base + 70 * MS], "thread": 11, "state": "lock", "link": store},
        {"stack": "main;job;store;fsync", "values": [9 * MS], "times": [base + 82 * MS], "thread": 11, "state": "disk", "link": store},
        {"stack": "main;job;load;recv", "values": [6 * MS], "times": [base + 36 * MS], "thread": 11, "state": "network", "link": load},
        {"stack": "main;idle;poll", "values": [90 * MS], "times": [base + 99 * MS], "thread": 12, "state": "poll"}], base - S))
    m.timed(otlp_profile("worker", "wall", "nanoseconds", [
        {"stack": "main;job;store;pack", "values": [5 * MS, 5 * MS], "times": [base + 52 * MS, base + 58 * MS], "thread": 11, "state": "running", "link": store},
        {"stack": "main;job;store;queue", "values": [5 * MS], "times": [base + 85 * MS], "thread": 11, "state": "run_queue", "link": store},
        {"stack": "main;job;nanosleep", "values": [5 * MS], "times": [base + 95 * MS], "thread": 11, "state": "sleep", "link": own},
        {"stack": "main;gc", "values": [5 * MS], "times": [base + 45 * MS], "thread": 11, "state": "gc", "link": own}], base - S, period=5 * MS))


def guessed(m, p, base):
    """What is not tied to its span directly: the request's first span only, a span's word, the upload's ids, nothing at all."""
    t, i = p.trace(4), p.span
    m.spans([resource("goapp", [span(t, i(31), "GET /a", base, base + 100 * MS, "", 2),
                                span(t, i(32), "part one", base + 10 * MS, base + 40 * MS, i(31)),
                                span(t, i(33), "part two", base + 40 * MS, base + 90 * MS, i(31))], **{"telemetry.sdk.language": "go"}),
             resource("plain", [span(t, i(34), "plain work", base + 5 * MS, base + 95 * MS, i(31), 2)]),
             resource("named", [span(p.trace(5), i(35), "named by id", base, base + 100 * MS, "", 2, {"profile.id": "0123456789abcde" + str(p.number)}),
                                span(p.trace(5), i(36), "named by file", base + 200 * MS, base + 300 * MS, i(35), 1,
                                     {"profile.file": f"/profiles/fedcba987654321{p.number}.pb.gz"})]),
             resource("upload", [span(p.trace(6), i(37), "uploaded", base, base + 100 * MS, "", 2, {"thread.id": 7})])])
    m.profile("goapp", pprof({("main;workA", (("local root span id", str(int(i(31), 16))),)): 60 * MS,
                              ("main;workB", (("local root span id", str(int(i(31), 16))),)): 20 * MS}, when=base - 2 * S))
    m.profile("plain", pprof({"main;plain;work": 500 * MS, "main;plain;rest": 100 * MS}, when=base - 2 * S))
    m.profile("named", pprof({("main;by_id", (("profile_id", "0123456789abcde" + str(p.number)),)): 30 * MS,
                              ("main;by_file", (("profile_id", f"fedcba987654321{p.number}"),)): 50 * MS}, when=base - 2 * S))
    m.profile("upload", pprof({("main;mine", (("thread_id", "7"),)): 30 * MS, ("main;theirs", (("thread_id", "8"),)): 50 * MS},
                              when=base - 2 * S), more=f"&trace_id={p.trace(6)}&span_id={i(37)}")


def crowd(m, p, base):
    """Forty equal requests, ten of them slow and six failed, for cohorts and comparisons."""
    spans, stacks = [], {}
    for n in range(40):
        own, is_slow = p.span(100 + n), n % 4 == 3
        spans.append(span(p.trace(100 + n), own, "tax", base + n * 100 * MS, base + (n * 100 + (90 if is_slow else 20 + n % 3)) * MS,
                          "", 2, {"n": n, "half": n % 2 == 0}, status={"code": 2 if n % 7 == 6 else 0}))
        stacks[("main;tax", (("span_id", own),))] = (10 + n % 5) * MS
        if is_slow:
            stacks[("main;tax;applyLegacyTax", (("span_id", own),))] = (60 + n % 9) * MS
    m.spans([resource("tax", spans, **{"service.version": "2.0"})])
    m.profile("tax", pprof(stacks, when=base - 2 * S))


def story(m, place, tenants=(A,)):
    for tenant in tenants:
        p = old_data.Place(place, tenant)
        checkout(m, p, p.base, tenant)
        shop_profiles(m, p, p.base, tenant)
        kinds(m, p, p.base, tenant)
        scratch(m, p.base, p.number, tenant)
    p = old_data.Place(place, A)
    worker(m, p, p.base + 20 * S)
    guessed(m, p, p.base + 40 * S)
    crowd(m, p, p.base + 60 * S)


def make(data):
    m = Maker(data)
    for tenant in (A, B):
        m.post("/settings.v1.SettingsService/Set", json.dumps({"setting": {"name": "theme", "value": "of " + tenant, "modifiedAt": "1"}}), JSON, tenant)
    # Days that are over: two hours each, so that they become blocks of level 2; by their age sums, without details.
    for place in ("aged", "coarse", "day"):
        p = old_data.Place(place, A)
        story(m, place, (A, B) if place == "day" else (A,))
        shop_profiles(m, p, p.base + 3600 * S, A, start=1, n=2)
        late(m, p, 50, p.base + 3600 * S)
        scratch(m, p.base + 3600 * S, 0x10 + p.number)
        if place == "day":
            other = old_data.Place(place, B)
            shop_profiles(m, other, p.base + 3600 * S, B, start=1, n=2)
            late(m, other, 50, p.base + 3600 * S, B)
            scratch(m, p.base + 3600 * S, 0x10 + p.number, B)
        m.flush()
        m.wait(place, lambda found: {b.level for b in found if b.kind == "prof"} == {2} and not [b for b in found if b.level == 0])
    # Hours of this day that are over: three blocks of level 1 in one of them.
    story(m, "hour", (A, B))
    m.flush()
    for n in (1, 2):
        m.wait("hour", lambda found: not [b for b in found if b.level == 0])
        p = old_data.Place("hour", A)
        at = p.base + n * 900 * S
        late(m, p, 50 + n, at)
        shop_profiles(m, p, at, A, start=10 * n, n=1)
        scratch(m, at, 0x20 + n)
        m.flush()
    m.wait("hour", lambda found: not [b for b in found if b.level == 0])
    # This hour: two blocks of level 0, several tenants in the first; the second goes on with a trace of the first.
    story(m, "fresh", (A, B))
    p = old_data.Place("fresh", A)
    m.spans([resource("shop", [span(old_data.ERASED, "e0e0e0e0e0e0e0e0", "erased", p.base, p.base + 30 * MS, "", 2)])])
    m.profile("forgotten", pprof({("main;erased", (("span_id", "e0e0e0e0e0e0e0e0"), ("trace_id", old_data.ERASED))): 30 * MS}, when=p.base - 2 * S))
    m.flush()
    m.spans([resource("shop", [span(p.trace(1), p.span(40), "audit", p.base + 160 * MS, p.base + 170 * MS, p.span(3))])])
    shop_profiles(m, p, p.base, A, start=6, n=2)
    scratch(m, p.base + 60 * S, 0x30)
    m.flush()
    # An erasure that is not finished: its blocks cannot be rewritten, because nothing can be renamed to be a block.
    m.faults.arm(faultfs.RENAME, errno.EIO, path=".sf")
    erased = m.server.post("/api/v1/erase", json.dumps({"traces": [old_data.ERASED]}), JSON, headers={"X-Scope-OrgID": A})
    assert erased.status == 200, erased.text
    # Only in the log: JSON, protobuf, gzip, a secret that was replaced, profiles.
    story(m, "log", (A, B))
    p = old_data.Place("log", A)
    secret = dict(trace_id=bytes.fromhex(p.trace(60)), span_id=bytes.fromhex(p.span(60)), name="login", service="shop", start=p.base,
                  end=p.base + 3 * MS, attributes={"password": "hunter2", "user": "anna"})
    m.post("/v1/traces", export_request([secret]), PB, A)
    packed_one = dict(secret, trace_id=bytes.fromhex(p.trace(61)), span_id=bytes.fromhex(p.span(61)), name="packed", attributes={"user": "bert"})
    m.post("/v1/traces", gzip.compress(export_request([packed_one]), mtime=0), PB, A, **{"Content-Encoding": "gzip"})
    answer = m.server.get("/api/traces/" + old_data.ERASED, headers={"X-Scope-OrgID": A})
    assert answer.status == 404, answer.text
    m.server.process.send_signal(signal.SIGKILL)
    m.server.process.wait()
    assert os.path.getsize(os.path.join(data, "erase.log")) > 0
    found = old_data.blocks(data)
    for b in found:
        print(b)
    assert {b.level for b in found if b.kind == "spans"} == {0, 1} and {b.level for b in found if b.kind == "prof"} == {0, 1, 2}
    m.faults.close()


def pack(data, path):
    def plain(info):
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mtime = old_data.MADE
        return info
    with tarfile.open(path, "w:xz", preset=9) as tar:
        tar.add(data, "data", filter=plain)


def main():
    archive = os.path.join(HERE, "data.tar.xz")
    if os.path.exists(archive):
        sys.exit(f"{archive} is there, and is never written again: a new format gets a folder of its own")
    with tempfile.TemporaryDirectory() as folder:
        make(os.path.join(folder, "data"))
        pack(os.path.join(folder, "data"), archive)
    print(os.path.getsize(archive), "bytes; the golden answers: tests/flow/old_data_flow.py --add")


if __name__ == "__main__":
    main()
