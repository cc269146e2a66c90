#!/usr/bin/env python3
"""Tempo's own API client, the one that tempo-cli asks with, against a running server: search, traces, names, values
and metrics, plain and compressed, and the search over gRPC."""
import json
import os
import subprocess
import sys
import urllib.parse

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow")]
import toolchain  # noqa: E402
from server import Server, tap  # noqa: E402
from traceql_spans import SPANS, T0_S, golden, send  # noqa: E402

try:
    CLIENT = toolchain.client("tempo_api")
except tap.Skip as reason:
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)

server = Server(config="limits:\n  query_time: 60s\n").start()
send(server, SPANS)
RANGE = {"start": T0_S - 50, "end": T0_S + 50}
A = "1" * 32


def ask(steps, mode="plain"):
    """The answers to all of them."""
    done = subprocess.run([*CLIENT, f"http://127.0.0.1:{server.port}", mode], input="\n".join(map(json.dumps, steps)),
                          capture_output=True, text=True, timeout=120, check=True)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == len(steps)
    return told


def one(**step):
    """The same plain and compressed; the figures of two runs may differ."""
    told = [ask([step], mode)[0] for mode in ("plain", "gzip")]
    for answer in told:
        assert "error" not in answer, (step, answer)
        answer.pop("metrics", None)
    assert told[0] == told[1], (step, told)
    return told[0]


def test_every_worked_query_is_answered_as_over_grpc():
    queries = list(golden("traceql_search.txt"))
    steps = [dict(RANGE, do=do, query=q, limit=100, spss=100) for q, _ in queries for do in ("search", "stream")]
    told = ask(steps, "gzip")
    n_found = 0
    for (query, result), plain, streamed in zip(queries, told[::2], told[1::2]):
        if "ERROR" in result:
            assert "400" in plain["error"] and "InvalidArgument" in streamed["error"], (query, plain, streamed)
            continue
        assert "error" not in plain and "error" not in streamed, (query, plain, streamed)
        assert plain.get("traces") == streamed.get("traces"), query
        n_found += len(plain.get("traces", []))
    assert n_found > 100, n_found


def test_a_search_by_tags_is_logfmt():
    for tags, want in (("service.name=cart", [A]), ("db.system=postgresql service.name=car", [A]),
                       ("service.name=nobody", [])):
        told = one(do="searchTags", query=tags, **RANGE)
        assert [t["traceID"] for t in told.get("traces", [])] == want, (tags, told)


def names(trace):
    return sorted(s["name"] for r in trace["resourceSpans"] for ss in r["scopeSpans"] for s in ss["spans"])


def test_a_trace_by_its_id():
    want = sorted(s["name"] for _, s in SPANS if s["traceId"] == A)
    assert names(one(do="trace", id=A)) == names(one(do="traceV2", id=A)["trace"]) == want
    assert names(one(do="traceRange", id=A, **RANGE)) == want
    nobody, empty = ask([{"do": "trace", "id": "9" * 32}, {"do": "traceV2", "id": "9" * 32}])
    assert "response: 404" in nobody["error"] and empty["trace"] == {}, (nobody, empty)


def test_names_and_values():
    assert "service.name" in one(do="tags", **RANGE)["tagNames"]
    scopes = {s["name"]: s["tags"] for s in one(do="tagsV2", **RANGE)["scopes"]}
    assert "service.name" in scopes["resource"] and "db.system" in scopes["span"] and "duration" in scopes["intrinsic"]
    assert sorted(one(do="values", id="service.name")["tagValues"]) == ["cart", "db", "gateway", "worker"]
    for more in (RANGE, {"query": "{ }"}):
        told = one(do="valuesV2", id="resource.service.name", **more)["tagValues"]
        assert sorted(v["value"] for v in told) == ["cart", "db", "gateway", "worker"], told
    odd = 'span."a b/ü"'
    assert one(do="valuesV2", id=urllib.parse.quote(odd, safe=""), **RANGE).get("tagValues", []) == []


def test_every_worked_metric():
    steps = [dict(RANGE, do="metrics", query=q, step="10s", exemplars=10) for q, _ in golden("traceql_metrics.txt")]
    told = ask(steps, "gzip")
    assert [(s["query"], t) for s, t in zip(steps, told) if "error" in t] == []
    assert sum(len(t.get("series", [])) for t in told) > 40
    assert any(s.get("exemplars") for t in told for s in t.get("series", []))


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
