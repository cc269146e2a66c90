#!/usr/bin/env python3
"""One trace of 100,000 spans, half of them a tree above a chain of the others, sent in pieces that lie in memtables and in
several blocks: every door shows all of it. The short form has 40,000, more than the 33,000 above which no door showed any; what
100,000 need is in tests/prop/large_trace_prop.c at every scale."""
import gzip
import http.client
import json
import os
import re
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from server import JSON, Server, field, fields, first, tap  # noqa: E402

IS_SHORT = float(os.environ.get("CHECK_SCALE", "1")) < 1  # fewer spans and queries, and each door once
N, PIECE = 40_000 if IS_SHORT else 100_000, 5_000
N_TREE = N // 2
TRACE = "ab" * 16
START_S = int(time.time()) - 300
SERVICE = "/tempopb.StreamingQuerier/"

# As spans of real services are: 600 bytes each.
FAT = [{"key": k, "value": {"stringValue": v}} for k, v in (
    ("http.method", "GET"), ("net.peer.name", "db-17.internal"),
    ("db.statement", "SELECT * FROM items WHERE id = ? AND owner = ? LIMIT 10"))]
FAT.append({"key": "thread.id", "value": {"intValue": "7"}})
BUDGET_MIB, SLACK_MIB = 256, 16

server = Server(config="limits:\n  body_timeout: 600s\n").start()  # for clients that do not read for long


def parent_of(i):
    return (i - 1) // 10 if i < N_TREE else i - 1


def span(i):
    start = START_S * 10**9 + i * 1000
    return {"traceId": TRACE, "spanId": f"{i + 1:016x}", "parentSpanId": f"{parent_of(i) + 1:016x}" if i else "",
            "name": f"op {i % 7}", "kind": 1, "startTimeUnixNano": str(start), "endTimeUnixNano": str(start + 500),
            "attributes": [{"key": "n", "value": {"intValue": str(i)}}] + FAT + [
                {"key": "http.url", "value": {"stringValue": f"https://shop.example.com/cart/{i}/item"}}], "status": {"code": 2 if i % 1000 == 0 else 0}}


BIG = json.dumps({"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "big"}}]},
                                     "scopeSpans": [{"spans": ["SPANS"]}]}]})
FORM = (json.dumps(dict(span(1), parentSpanId="PARENT", spanId="ID", name="NAME", startTimeUnixNano="START", endTimeUnixNano="END",
                        status={"code": "CODE"})).replace("%", "%%").replace('"PARENT"', '"%s"').replace('"ID"', '"%016x"')
        .replace('"NAME"', '"op %d"').replace('"START"', '"%d"').replace('"END"', '"%d"').replace('"intValue": "1"', '"intValue": "%d"')
        .replace("/cart/1/item", "/cart/%d/item").replace('"CODE"', "%d"))


def request_of(first, n):
    """Spans [first, first + n) as JSON, as json.dumps() would write them, in a tenth of its time."""
    spans = []
    for i in range(first, first + n):
        start = START_S * 10**9 + i * 1000
        spans.append(FORM % (i + 1, f"{parent_of(i) + 1:016x}" if i else "", i % 7, start, start + 500, i, i, 2 if i % 1000 == 0 else 0))
    return BIG.replace('"SPANS"', ",".join(spans))


def send_all():
    assert json.loads(request_of(1000, 1))["resourceSpans"][0]["scopeSpans"][0]["spans"] == [span(1000)]
    pieces = list(range(0, N, PIECE))
    for at in pieces[::2] + pieces[1::2]:  # late spans are no worse than others
        answer = server.post("/v1/traces", request_of(at, PIECE), JSON)
        assert answer.status == 200 and "reject" not in answer.text, answer.text
        if at % (PIECE * 6) == 0:
            assert server.post("/api/v1/flush", b"", "application/json").status == 200


def get(path, headers=None, **params):
    return server.get(path + ("?" + urllib.parse.urlencode(params) if params else ""), headers=headers, timeout=120)


def matched(query):
    answer = get("/api/search", q=query, limit=5, spss=1, start=START_S - 10, end=START_S + 10)
    assert answer.status == 200 and "x-spanflame-partial" not in answer.headers, (query, answer.text[:200], answer.headers)
    traces = json.loads(answer.body)["traces"]
    assert len(traces) <= 1
    return [s["matched"] for t in traces for s in t["spanSets"]]


def descendants_of(i):
    found = {i}
    for k in range(i + 1, N):
        if parent_of(k) in found:
            found.add(k)
    return found - {i}


QUERIES = {
    "{ }": [N],
    f"{{ }} | count() = {N}": [N],
    f"{{ span.n = {N - 1} }}": [1],
    f"{{ status = error }} | count() > {N // 1000 - 1}": [N // 1000],
    "{ } | by(name)": [N // 7 + (i < N % 7) for i in range(7)],
    f"{{ span.n = 0 }} >> {{ span.n = {N - 1} }}": [1],
    f"{{ span.n = {N - 1} }} << {{ span.n = {N_TREE - 1} }}": [1],
    "{ } > { }": [N - 1],
    "{ } !> { }": [1],
    "{ } !< { }": [1 + sum(1 for i in range(N_TREE) if i * 10 + 1 >= N_TREE and i != N_TREE - 1)],
    "{ span.n = 7 } ~ { }": [9],
    "{ span.n = 3 } >> { }": [len(descendants_of(3))],
    "{ span.n = 3 } &>> { status = error }": [1 + sum(1 for i in descendants_of(3) if i % 1000 == 0)],
    f"{{ nestedSetParent < 0 && nestedSetRight = {2 * N} }}": [1],
    f"{{ }} | sum(span.n) = {N * (N - 1) // 2} | max(span.n) = {N - 1}": [N],
}


def check_queries():
    for query, want in list(QUERIES.items())[::5 if IS_SHORT else 1]:
        assert matched(query) == want, (query, matched(query), want)


def check_doors():
    for path, key in (("/api/traces/", "batches"), ("/api/v2/traces/", "trace")):
        answer = get(path + TRACE)
        assert answer.status == 200 and answer.body.count(b'"spanId"') == N and "PARTIAL" not in answer.text[-200:]
        assert answer.text.startswith('{"%s":' % key) if IS_SHORT else key in json.loads(answer.body)
    whole = get("/api/v2/traces/" + TRACE, {"Accept": "application/protobuf"}).body
    ids = set(re.findall(b"\n\x10" + re.escape(bytes.fromhex(TRACE)) + b"\x12\x08(.{8})", first(whole, 1), re.S))
    assert len(ids) == N and first(whole, 3) is None, len(ids)


def most_mib():
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024


def check_views():
    answer = get("/jaeger/api/traces/" + TRACE)
    assert answer.status == 200 and answer.body.count(b'"operationName"') == N, (answer.status, answer.text[:200])
    if not IS_SHORT:
        answer = get("/api/v3/traces/" + TRACE)
        assert answer.status == 200 and answer.body.count(b'"spanId"') == N, (answer.status, answer.text[:200])
    told = json.loads(get("/api/v1/trace/" + TRACE).body)
    assert len(told["spans"]) == N and not told["isPartial"] and any(s["critical"] for s in told["spans"] if "critical" in s)
    for by in ("critical-path",) if IS_SHORT else ("samples", "wall", "critical-path"):
        told = json.loads(get(f"/api/v1/traces/{TRACE}/flame", by=by).body)
        assert not told["isPartial"] and told["spans"] == N, {k: v for k, v in told.items() if k != "flamebearer"}
    for i in (N - 1,) if IS_SHORT else (0, N_TREE, N - 1):  # the root, and both ends of the chain
        for view in ("ledger", "profile", "coverage"):
            answer = get(f"/api/v1/spans/{TRACE}/{i + 1:016x}/{view}")
            assert answer.status == 200 and '"isPartial":true' not in answer.text, (i, view, answer.status, answer.text[:200])
    assert get("/api/v1/findings", trace=TRACE).status == 200
    if IS_SHORT:
        return
    answer = get(f"/api/v1/traces/{TRACE}/ledgers")
    assert answer.status == 200 and answer.body.count(b'"spanId"') == N, (answer.status, answer.text[:200])
    answer = get("/api/v1/explain", trace=TRACE)
    assert answer.status == 200 and json.loads(answer.body)["sentence"], (answer.status, answer.text[:200])


def check_counts_and_streams():
    told = json.loads(get("/api/metrics/query", q="{ span.n = 0 } >> { } | count_over_time()", start=START_S - 10, end=START_S + 10).body)
    assert told["series"][0]["value"] == N - 1 and "status" not in told, told
    status, text, _, messages = server.grpc_stream(
        SERVICE + "Search", field(5, START_S - 10) + field(6, START_S + 10) + field(8, "{ span.n = 3 } >> { }"), seconds=120)
    traces = [v for n, v in fields(messages[-1]) if n == 1]
    assert status == 0 and len(traces) == 1, (status, text)
    assert first(first(traces[0], 7), 2) == len(descendants_of(3))
    status, text, _, messages = server.grpc_stream(SERVICE + "SearchTagValuesV2", field(1, "name") + field(2, '{ resource.service.name = "big" }'),
                                                   seconds=120)
    assert status == 0 and sum(n == 1 for m in messages for n, _ in fields(m)) == 7, (status, text)


def test_every_door_shows_all_of_a_large_trace():
    send_all()
    check_doors()
    if not IS_SHORT:
        check_queries()
        check_counts_and_streams()


def test_and_so_when_it_lies_on_disk():
    assert server.post("/api/v1/flush", b"", "application/json").status == 200
    check_queries()
    if not IS_SHORT:
        check_doors()
    check_views()
    check_counts_and_streams()


def test_clients_that_do_not_read_hold_no_thread():
    """As many of them as threads for such questions; each answer is far longer than what sockets hold."""
    route = 'spanflame_requests_total{route="/api/traces/{}",status="200"}'
    readers, n_before = [], server.metric(route)
    for k in range(3):
        conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300, source_address=(f"127.0.0.{20 + k}", 0))
        conn.request("GET", "/api/traces/" + TRACE)
        readers.append((conn, conn.getresponse()))  # the head has come, and nothing is read of the body
    other = "cd" * 16
    one = dict(span(0), traceId=other)
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "one"}}]}
    body = json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [one]}]}]})
    assert server.post("/v1/traces", body, JSON).status == 200
    assert get("/api/traces/" + other).status == 200
    assert server.metric(route) >= n_before + 3  # their threads were done before the first of them read
    for conn, answer in readers:  # and they get all of it
        assert answer.status == 200 and answer.read().count(b'"spanId"') == N
        conn.close()


def test_a_long_answer_is_compressed_when_asked_for():
    answer = get("/api/traces/" + TRACE, headers={"Accept-Encoding": "gzip"})
    assert answer.status == 200 and answer.headers["content-encoding"] == "gzip", answer.headers
    plain = gzip.decompress(answer.body)
    assert plain.count(b'"spanId"') == N and len(answer.body) < len(plain) / 4, (len(answer.body), len(plain))


def test_all_of_that_stays_within_the_memory_budget():
    assert most_mib() <= BUDGET_MIB + SLACK_MIB, most_mib()


def test_a_view_of_a_trace_beyond_a_querys_memory_is_partial_and_says_so():
    n = 30_000 if IS_SHORT else 60_000
    with Server(config=f"limits:\n  query_memory: {8 if IS_SHORT else 16}MB\n") as s:
        for at in range(0, n, PIECE):
            assert s.post("/v1/traces", request_of(at, PIECE), JSON).status == 200
        for path in ("/api/traces/", "/jaeger/api/traces/", "/api/v3/traces/"):
            answer = s.get(path + TRACE, timeout=120)
            assert answer.status == 200 and "limits.query_memory" in answer.headers["x-spanflame-partial"], (path, answer.text[:200])
            assert 1000 < answer.body.count(b"spanI") < 2 * n, path
        answer = s.get("/api/v2/traces/" + TRACE, timeout=120)
        assert json.loads(answer.body)["status"] == "PARTIAL" and "limits.query_memory" in answer.text, answer.text[-300:]
        told = json.loads(s.get("/api/v1/trace/" + TRACE, timeout=120).body)
        assert told["isPartial"] and 1000 < len(told["spans"]) < n
        first_ids = {t["spanId"] for t in told["spans"]}
        for view in ("ledger", "profile"):
            answer = s.get(f"/api/v1/spans/{TRACE}/{sorted(first_ids)[0]}/{view}", timeout=120)
            assert answer.status == 200 and '"isPartial":true' in answer.text, (view, answer.status, answer.text[:300])
        for by in ("samples", "wall", "critical-path"):
            answer = s.get(f"/api/v1/traces/{TRACE}/flame?by={by}", timeout=120)
            assert answer.status == 200 and json.loads(answer.body)["isPartial"], (by, answer.status, answer.text[:200])


def test_what_does_not_fit_is_said_and_not_left_out_silently():
    answer = get("/api/search", q="{ } | by(span.n) | count() > 0", spss=1, limit=5, start=START_S - 10, end=START_S + 10)
    assert answer.status == 200, answer.text
    if len(json.loads(answer.body)["traces"]) == 0:
        assert TRACE in answer.headers["x-spanflame-partial"], answer.headers


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
