#!/usr/bin/env python3
"""The memory budget holds for every kind of query: eight clients ask each kind side by side, in a control group of the
budget and 32 MiB. Prints the most memory that each kind took."""
import json
import os
import struct
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from memory_group import forget_most, make_group, most_mib, n_kills, remove_group  # noqa: E402
from pprof_make import pprof  # noqa: E402
from server import Server, field, tap  # noqa: E402

SHORT = float(os.environ.get("CHECK_SCALE", "1")) < 1
BUDGET_MIB, SLACK_MIB, GROUP_SLACK_MIB = 256, 16, 32
N_CLIENTS = 4 if SHORT else 8
N_REQUESTS, N_SPANS = (2, 2000) if SHORT else (30, 5000)  # each request: traces of ten spans
N_PROFILES, N_STACKS = (5, 500) if SHORT else (10, 8000)
S = 10**9
BEGIN_NS = time.time_ns() - 1200 * S
CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"


def attribute(key, value):
    return field(1, key) + field(2, field(1, value))


def span_of(n, i):
    """Span `i` of request `n`; ten are a trace."""
    trace, start = struct.pack(">QQ", n + 1, i // 10 + 1), BEGIN_NS + (n * N_SPANS + i) * 1000 * S // (N_REQUESTS * N_SPANS)
    parent = field(4, struct.pack(">Q", (n << 32) + i // 10 * 10 + 1)) if i % 10 else b""
    attrs = b"".join(field(9, attribute(k, v)) for k, v in (
        ("http.method", "GET"), ("http.url", f"https://shop.example.com/cart/{n}/{i}"), ("net.peer.name", f"db-{i % 50}.internal"),
        ("db.statement", "SELECT * FROM items WHERE id = ? AND owner = ?"), ("user.id", f"user-{(n * 7919 + i * 31) % 20000}")))
    return (field(1, trace) + field(2, struct.pack(">Q", (n << 32) + i + 1)) + parent + field(5, f"op {i % 37}") + b"\x39"
            + struct.pack("<Q", start) + b"\x41" + struct.pack("<Q", start + 5_000_000 + i * 1000) + attrs)


def send(server, path, body, content_type):
    for _ in range(600):
        answer = server.post(path, body, content_type, timeout=60)
        if answer.status not in (429, 503):
            break
        time.sleep(0.2)
    assert answer.status == 200, (answer.status, answer.text)


def fill(server):
    for n in range(N_REQUESTS):
        resource = field(1, field(1, attribute("service.name", f"svc-{n % 5}")) + field(1, attribute("host.name", f"pod-{n % 20}")))
        spans = b"".join(field(2, span_of(n, i)) for i in range(N_SPANS))
        send(server, "/v1/traces", field(1, resource + field(2, spans)), "application/x-protobuf")
    for n in range(N_PROFILES):
        stacks = {}
        for i in range(N_STACKS):
            path = ";".join(f"pkg{i % 7}.Func{(i * 7 + d * (i % (3 + n % 5) + 1)) % 700}" for d in range(12))
            request = i % N_REQUESTS
            labels = (("trace_id", struct.pack(">QQ", request + 1, i % 500 // 10 + 1).hex()),
                      ("span_id", f"{(request << 32) + i % 500 + 1:016x}")) if i % 3 == 0 else ()
            stacks[(path, labels)] = 10_000_000
        body = pprof(stacks, when=BEGIN_NS + n * 20 * S)
        query = urllib.parse.urlencode({"name": f"svc-{n % 5}{{pod=pod-{n}}}", "from": BEGIN_NS // S + n * 20,
                                        "until": BEGIN_NS // S + n * 20 + 10})
        send(server, "/ingest?" + query, body, "application/octet-stream")


def get(path, **params):
    return "GET", path + ("?" + urllib.parse.urlencode(params) if params else ""), None


def ask(method, **message):
    return "POST", "/querier.v1.QuerierService/" + method, json.dumps(dict({
        "start": BEGIN_NS // 10**6, "end": BEGIN_NS // 10**6 + 1200_000}, **message))


FROM, TO = BEGIN_NS // S - 60, BEGIN_NS // S + 1260
SPAN = {"start": FROM, "end": TO}
RANGE = {"from": FROM, "until": TO}
TRACE = struct.pack(">QQ", 1, 1).hex()
KINDS = {
    "search": [get("/api/search", q="{}", limit=20000, spss=10, **SPAN),
               get("/api/search", q="{} | select(span.http.url, span.db.statement)", limit=5000, **SPAN),
               get("/api/search", q="{ span.user.id =~ `user-1.*` } >> { name = `op 7` }", limit=1000, **SPAN)],
    "metrics": [get("/api/metrics/query_range", q="{} | rate() by (span.user.id)", step="5s", **SPAN),
                get("/api/metrics/query_range", q="{} | quantile_over_time(duration, .5, .9, .99) by (name)", step="1s", **SPAN),
                get("/api/metrics/query_range", q="{} | compare({ span.http.method = `GET` }, 100)", step="10s", **SPAN)],
    "tags": [get("/api/v2/search/tag/span.http.url/values", **SPAN), get("/api/v2/search/tags", **SPAN),
             get("/api/v2/search/tag/span.user.id/values", q="{ name = `op 7` }", **SPAN)],
    "trace": [get(f"/api/traces/{TRACE}"), get(f"/api/v1/traces/{TRACE}/flame"), get("/jaeger/api/traces", service="svc-1", limit=1500)],
    "merge": [ask("SelectMergeStacktraces", profile_typeID=CPU, labelSelector="{}", maxNodes=100000),
              ask("SelectMergeProfile", profile_typeID=CPU, labelSelector='{service_name="svc-1"}'),
              get("/pyroscope/render", query=CPU + '{service_name="svc-2"}', **{"max-nodes": 60000}, **RANGE)],
    "series": [ask("SelectSeries", profile_typeID=CPU, labelSelector="{}", groupBy=["pod", "service_name"], step=1),
               ask("SelectHeatmap", profile_typeID=CPU, labelSelector="{}", step=5, queryType="HEATMAP_QUERY_TYPE_INDIVIDUAL"),
               get("/api/v1/profile", service="svc-1", type="cpu", **RANGE)],
    "diff": [get("/pyroscope/render-diff", **{
        "leftQuery": CPU + '{service_name="svc-1"}', "leftFrom": FROM, "leftUntil": TO, "rightQuery": CPU + '{service_name="svc-2"}',
        "rightFrom": FROM, "rightUntil": TO, "max-nodes": 60000})],
    "compare": [get("/api/v1/compare", q='{ resource.service.name = "svc-1" }', split="p95", type="cpu", **RANGE),
                get("/api/v1/cohort", q='{ resource.service.name = "svc-1" }', type="cpu", **RANGE),
                get("/api/v1/balance", service="svc-1", type="cpu", **RANGE)],
    "coverage": [get("/api/v1/coverage", service="svc-1", **RANGE), get("/api/v1/services", **RANGE)],
    "spans with": [get("/api/v1/frames/spans", service="svc-1", function="pkg1.Func8", type="cpu", **RANGE),
                   get("/api/v1/findings", service="svc-1", **RANGE)],
}

group, kills = make_group((BUDGET_MIB + GROUP_SLACK_MIB) << 20)
server = Server()
n_killed = None


def flood(questions):
    """All clients ask all questions, each beginning with another one; who is told to come back does, a few times."""
    statuses, texts = [], set()

    def client(k):
        for i in range(len(questions)):
            method, path, body = questions[(i + k) % len(questions)]
            for _ in range(3):
                answer = server.request(method, path, body, {"Content-Type": "application/json"} if body else None,
                                        timeout=300, address=f"127.0.0.{10 + k}")
                statuses.append(answer.status)
                if answer.status not in (200, 429):
                    texts.add((path[:60], answer.status, answer.text[:200]))
                if answer.status != 429:
                    break
                time.sleep(0.2)

    threads = [threading.Thread(target=client, args=(k,)) for k in range(N_CLIENTS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return statuses, texts


def check_kind(kind):
    forget_most(server)
    begin = time.monotonic()
    statuses, texts = flood(KINDS[kind])
    told = {s: statuses.count(s) for s in sorted(set(statuses))}
    print(f"# {kind}: at most {most_mib(server):.0f} MiB, {told}, {time.monotonic() - begin:.0f} s", *sorted(texts), flush=True)
    assert set(statuses) <= {200, 413, 429, 504}, (told, texts)
    assert told.get(200, 0) > 0, (told, texts)
    assert server.process.poll() is None, server.log()
    assert most_mib(server) <= BUDGET_MIB + SLACK_MIB, most_mib(server)


def make_test(kind):
    return lambda: check_kind(kind)


def test_a_store_is_filled():
    server.start()
    if group:
        with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as f:
            f.write(str(server.process.pid))
    fill(server)
    print(f"# filled: at most {most_mib(server):.0f} MiB", flush=True)
    assert most_mib(server) <= BUDGET_MIB + SLACK_MIB, most_mib(server)


for name in KINDS:
    globals()[f"test_{name.replace(' ', '_')}_queries_side_by_side"] = make_test(name)


def test_nothing_was_killed_in_a_control_group_of_the_budget_and_32_mib():
    if not group:
        raise tap.Skip("no control group with a memory limit can be made here")
    assert n_kills(kills) == 0


try:
    tap.run(sys.modules[__name__])
finally:
    server.kill()
    if group:
        remove_group(group)
