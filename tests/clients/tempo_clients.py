#!/usr/bin/env python3
"""What Grafana's Tempo data source asks, asked from Go and read as strictly as it reads: JSON by jsonpb, which
refuses an unknown field, protobuf with nothing left over, streams over h2c gRPC on the same port."""
import json
import os
import subprocess
import sys
import time
import urllib.parse

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow")]
import toolchain  # noqa: E402
from server import Server, make_span, tap  # noqa: E402
from traceql_spans import SPANS, T0, T0_S, golden, send  # noqa: E402

try:
    CLIENT = toolchain.client("tempo")
except tap.Skip as why:
    print(f"1..0 # SKIP {why}")
    sys.exit(0)

server = Server(config="limits:\n  query_time: 240s\n").start()
send(server, SPANS)
URL = f"http://127.0.0.1:{server.port}"
START_S, END_S = T0_S - 50, T0_S + 50
A, B, C = "1" * 32, "2" * 32, "3" * 32


def run(*args, stdin=""):
    return subprocess.run([*CLIENT, *args], input=stdin, capture_output=True, text=True, timeout=300, check=False)


def lines(*args):
    """The messages the client read; it must have read them all."""
    done = run(*args)
    assert done.returncode == 0, (args, done.stderr)
    return [plain(json.loads(line)) for line in done.stdout.splitlines()]


def plain(value):
    """An empty list and none at all are one thing in protobuf; JSON may write either."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if v != []}
    return [plain(v) for v in value] if isinstance(value, list) else value


def address(path, **params):
    return URL + path + ("?" + urllib.parse.urlencode(params) if params else "")


def by_json(message, path, **params):
    return lines("json", address(path, **params), message)[0]


def both(message, path, **params):
    """The same from JSON and from protobuf."""
    text, binary = by_json(message, path, **params), lines("proto", address(path, **params), message)[0]
    text.pop("metrics"), binary.pop("metrics")
    assert text == binary, (text, binary)
    return text


def stream(method, **request):
    return lines("stream", f"127.0.0.1:{server.port}", method, json.dumps(request))


# ---- the parser itself: what it must refuse, or the rest proves nothing ----

def test_the_parser_is_strict():
    for message, text in (("SearchResponse", '{"traces":[],"extra":1}'),
                          ("SearchResponse", '{"traces":[{"traceID":"1","durationMS":3}]}'),
                          ("SearchResponse", '{"metrics":{"inspectedTraces":"x"}}'),
                          ("QueryInstantResponse", '{"series":[{"labels":[],"value":1,"promLabels":""}]}'),
                          ("QueryInstantResponse", '{"status":"HALF"}')):
        done = run("parse", message, stdin=text)
        assert done.returncode == 1 and done.stderr, (message, text, done.stdout)


# ---- save & test ----

def test_a_data_source_is_healthy():
    told, = lines("health", URL)
    assert told["echo"] == "echo\n" and told["messages"] >= 0
    assert [int(n) for n in told["version"].split(".")] >= [2, 10, 0], told


# ---- a trace ----

def trace_of(version, form, trace_id, **params):
    return lines("trace", address(f"/api/{version + '/' if version == 'v2' else ''}traces/{trace_id}", **params),
                 version, form)[0]


def names(trace):
    return sorted(s["name"] for r in trace["trace"].get("resourceSpans", []) for ss in r["scopeSpans"]
                  for s in ss["spans"])


def test_a_trace_is_the_same_in_four_shapes():
    told = [trace_of(version, form, A, **params) for version in ("v1", "v2") for form in ("json", "proto")
            for params in ({}, {"start": START_S, "end": END_S})]
    assert names(told[0]) == sorted(s["name"] for _, s in SPANS if s["traceId"] == A)
    assert all(t == told[0] for t in told), told
    assert told[0]["status"] in ("", "COMPLETE")


def test_a_trace_nobody_sent_is_empty_or_not_found():
    for form in ("json", "proto"):
        assert names(trace_of("v2", form, "9" * 32)) == []
        done = run("trace", address("/api/traces/" + "9" * 32), "v1", form)
        assert done.returncode == 1 and done.stderr.startswith("404"), done.stderr


# ---- search ----

def test_every_worked_query_is_read_by_the_strict_parser():
    n_read = n_refused = 0
    for query, result in golden("traceql_search.txt"):
        done = run("json", address("/api/search", q=query, limit=100, spss=100, start=START_S, end=END_S),
                   "SearchResponse")
        if "ERROR" in result:
            assert done.returncode == 1 and done.stderr.startswith("400"), (query, done.stderr)
            n_refused += 1
            continue
        assert done.returncode == 0, (query, done.stderr)
        for trace in json.loads(done.stdout).get("traces", []):
            assert trace["spanSet"] == trace["spanSets"][0], query
            assert all(set(s) >= {"spanID", "startTimeUnixNano"} for ss in trace["spanSets"] for s in ss["spans"]), query
        n_read += 1
    assert n_read > 100 and n_refused > 0, (n_read, n_refused)


def test_a_search_is_the_same_as_json_protobuf_and_stream():
    for query, params in (("{ }", {}), ("{ status = error } | select(span.bytes, resource.service.name)", {}),
                          ("{ } | by(kind) | count() > 0", {}), ("{ } | avg(duration) > 100ms", {}),
                          ("{ name = `no such` }", {}), ("{ } with(most_recent=true)", {"limit": 1})):
        params = dict({"limit": 20, "spss": 3}, **params)
        told = both("SearchResponse", "/api/search", q=query, start=START_S, end=END_S, **params)
        last = stream("Search", Query=query, start=START_S, end=END_S, Limit=params["limit"],
                      SpansPerSpanSet=params["spss"])[-1]
        last.pop("metrics")
        assert last == told, (query, last, told)


def test_drilldowns_structure_tab_gets_whole_numbers():
    query = ("({nestedSetParent<0} &>> {status = error}) || ({nestedSetParent<0}) | select(status, "
             "resource.service.name, name, nestedSetParent, nestedSetLeft, nestedSetRight)")
    told = by_json("SearchResponse", "/api/search", q=query, limit=200, spss=20, start=START_S, end=END_S)
    spans = [s for t in told["traces"] for s in t["spanSets"][0]["spans"]]
    assert len(spans) == 5
    for span in spans:
        attributes = {a["key"]: a["value"] for a in span["attributes"]}
        for key in ("nestedSetLeft", "nestedSetRight", "nestedSetParent"):
            assert list(attributes[key]) == ["intValue"], span


def test_metrics_of_the_search_say_it_is_complete():
    for told in (by_json("SearchResponse", "/api/search", q="{ }", start=START_S, end=END_S),
                 stream("Search", Query="{ }", start=START_S, end=END_S)[-1]):
        assert told["metrics"]["completedJobs"] == told["metrics"]["totalJobs"] >= 1, told["metrics"]


# ---- names and values ----

def test_names_are_the_same_as_json_protobuf_and_stream():
    for scope in ("", "resource", "span", "event", "link", "instrumentation", "intrinsic"):
        params = {"start": START_S, "end": END_S, "limit": 5000, **({"scope": scope} if scope else {})}
        for message, path, method in (("SearchTagsResponse", "/api/search/tags", "SearchTags"),
                                      ("SearchTagsV2Response", "/api/v2/search/tags", "SearchTagsV2")):
            told = both(message, path, **params)
            last = stream(method, scope=scope, start=START_S, end=END_S, maxTagsPerScope=5000)[-1]
            last.pop("metrics")
            assert last == told, (scope, last, told)
    scopes = {s["name"]: s["tags"] for s in both("SearchTagsV2Response", "/api/v2/search/tags", limit=5000)["scopes"]}
    assert "service.name" in scopes["resource"] and "db.system" in scopes["span"] and "duration" in scopes["intrinsic"]
    assert "exception.type" in scopes["event"] and "reason" in scopes["link"]


def test_values_are_the_same_as_json_protobuf_and_stream():
    for tag in ("resource.service.name", "span.http.response.status_code", "span.retry", "span.ratio", ".bytes", "name",
                "status", "kind", "duration", "span:kind", "event.exception.type", "link.reason", 'span."a b"',
                "instrumentation:name", "trace:rootName"):
        path = "/api/v2/search/tag/" + urllib.parse.quote(tag, safe="") + "/values"
        told = both("SearchTagValuesV2Response", path, start=START_S, end=END_S, limit=5000, tag=tag)
        last = stream("SearchTagValuesV2", tagName=tag, start=START_S, end=END_S, maxTagValues=5000)[-1]
        last.pop("metrics")
        assert last == told, (tag, last, told)
        assert {v["type"] for v in told.get("tagValues", [])} <= {"string", "int", "float", "bool", "keyword", "duration"}
    for tag in ("service.name", "http.response.status_code", "name", "status", "root.name"):
        told = both("SearchTagValuesResponse", f"/api/search/tag/{tag}/values", start=START_S, end=END_S)
        last = stream("SearchTagValues", tagName=tag, start=START_S, end=END_S)[-1]
        last.pop("metrics")
        assert last == told, (tag, last, told)


def test_a_query_still_being_written_completes():
    for query in ("{", "{ name = }", "{ resource.service.name=", '{ span.db.system="postgresql" && name= }', "{ span.",
                  '{ name =~ "[" }', "}{", "nonsense", ""):
        told = by_json("SearchTagValuesV2Response", "/api/v2/search/tag/resource.service.name/values", q=query,
                       start=START_S, end=END_S)
        assert told["tagValues"], query


# ---- metrics ----

def without_metrics(message):
    return {k: v for k, v in message.items() if k != "metrics"}


def test_every_worked_metrics_query_is_read_by_the_strict_parser():
    n = 0
    for query, _ in golden("traceql_metrics.txt"):
        instant = by_json("QueryInstantResponse", "/api/metrics/query", q=query, start=START_S, end=END_S)
        last = stream("MetricsQueryInstant", query=query, start=START_S * 10**9, end=END_S * 10**9)[-1]
        assert without_metrics(instant) == without_metrics(last), (query, instant, last)
        ranged = by_json("QueryRangeResponse", "/api/metrics/query_range", q=query, start=START_S, end=END_S, step="10s")
        last = stream("MetricsQueryRange", query=query, start=START_S * 10**9, end=END_S * 10**9, step=10 * 10**9)[-1]
        assert without_metrics(ranged) == without_metrics(last), (query, ranged, last)
        n += 1
    assert n >= 20, n


def test_exemplars_are_dots_a_click_leads_from():
    told = by_json("QueryRangeResponse", "/api/metrics/query_range", q="{ } | quantile_over_time(duration, .9)",
                   start=START_S, end=END_S, step="10s", exemplars=100)
    dots = [e for s in told["series"] for e in s.get("exemplars", [])]
    assert dots
    for dot in dots:
        labels = {label["key"]: label["value"] for label in dot["labels"]}
        assert labels["trace:id"]["stringValue"] in (A, B, C), dot
        assert dot["value"] > 0 and int(dot["timestampMs"]) * 10**6 >= T0, dot


def test_metrics_are_json_whatever_is_accepted():
    for path in ("/api/metrics/query", "/api/metrics/query_range"):
        answer = server.get(path + "?q=%7B%7D%7Crate()", headers={"Accept": "application/protobuf"})
        assert answer.headers["Content-Type"].startswith("application/json")


def test_a_partial_answer_is_said_to_be_one_in_every_form():
    params = {"q": "{ } | rate() by (name)", "start": START_S, "end": END_S, "maxSeries": 2}
    ranged = by_json("QueryRangeResponse", "/api/metrics/query_range", **params)
    streamed = stream("MetricsQueryRange", query=params["q"], start=START_S * 10**9, end=END_S * 10**9, maxSeries=2)[-1]
    for told in (ranged, streamed):
        assert told["status"] == "PARTIAL" and "maximum series limit of 2" in told["message"] and len(told["series"]) == 2


# ---- what goes wrong ----

def test_mistakes_are_plain_text_over_http_and_a_status_over_grpc():
    done = run("json", address("/api/search", q="{ name = }"), "SearchResponse")
    assert done.stderr.startswith("400 Bad Request: invalid TraceQL query: parse error at line 1, col"), done.stderr
    done = run("stream", f"127.0.0.1:{server.port}", "Search", json.dumps({"Query": "{ name = }"}))
    assert done.stderr.startswith("InvalidArgument: invalid TraceQL query: parse error at line 1, col"), done.stderr


def test_a_large_answer_fits_grafanas_messages():
    spans = [make_span(service="large", name="n" * 2000, attributes={"i": i}) for i in range(4000)]
    for at in range(0, len(spans), 1000):
        server.send(spans[at:at + 1000])
    now = int(time.time())
    told = stream("Search", Query='{ resource.service.name = "large" } | select(name)', Limit=4000, start=now - 600,
                  end=now + 60)
    assert len({t["traceID"] for m in told for t in m.get("traces", [])}) == 4000 and len(told) > 1


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
