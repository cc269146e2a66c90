#!/usr/bin/env python3
"""Hints, with(...): every one of the reference is taken by searches and metrics, does what it says, and changes
nothing else."""
import json
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from server import Server, field, fields, tap  # noqa: E402
from traceql_spans import SPANS, T0_S, send  # noqa: E402

START, END = T0_S - 50, T0_S + 50
ALL = ["most_recent=true", "most_recent=false", "sample=true", "sample=0.1", "span_sample=true", "span_sample=0.5",
       "trace_sample=true", "trace_sample=0.25", "exemplars=5", "exemplars=true", "exemplars=false", "extrapolate=true",
       "extrapolate=false", "job_size=100", "concurrent_blocks=7", "debug=true", "no_such_hint=1",
       # the wrong type is as good as no hint
       "most_recent=1", 'sample="x"', "exemplars=`many`", "extrapolate=3s", "sample=7", "exemplars=1.5"]
server = Server().start()
send(server, SPANS)


def ask(path, query, **params):
    answer = server.get(path + "?" + urllib.parse.urlencode({"q": query, "start": START, "end": END, **params}))
    assert answer.status == 200, (query, answer.status, answer.text)
    return json.loads(answer.body)


def values(query, **params):
    """{labels: value} of an instant query"""
    return {tuple(str(*a["value"].values()) for a in s["labels"]): s.get("value", 0)
            for s in ask("/api/metrics/query", query, **params)["series"]}


def samples(query, **params):
    told = ask("/api/metrics/query_range", query, step="10s", **params)["series"]
    return [(s["labels"], s["samples"]) for s in told], [e for s in told for e in s.get("exemplars", [])]


def test_every_hint_is_taken_by_a_search_and_changes_no_row():
    want = ask("/api/search", "{ status = error } | select(span.bytes)")["traces"]
    assert want
    for hint in ALL:
        assert ask("/api/search", f"{{ status = error }} | select(span.bytes) with({hint})")["traces"] == want, hint
    both = ask("/api/search", "{ status = error } | select(span.bytes) with(" + ", ".join(ALL[:17]) + ")")
    assert both["traces"] == want


def test_most_recent_gives_the_newest_and_so_does_its_absence():
    for hint in ("", " with(most_recent=true)", " with(most_recent=false)"):
        told = ask("/api/search", "{ }" + hint, limit=1)["traces"]
        assert [t["traceID"][0] for t in told] == ["3"], hint


def test_every_hint_is_taken_by_metrics_and_answers_stay_exact():
    want, dots = samples("{ } | rate() by (resource.service.name)")
    assert dots
    for hint in ALL:  # no span here was sampled: even extrapolation has nothing to add
        assert samples(f"{{ }} | rate() by (resource.service.name) with({hint})")[0] == want, hint
        assert values(f"{{ }} | count_over_time() with({hint})") == {("count_over_time",): 10}, hint


def test_exemplars_are_as_many_as_the_hint_says():
    query = "{ } | rate()"
    n = {hint: len(samples(query + hint)[1]) for hint in
         ("", " with(exemplars=1)", " with(exemplars=2)", " with(exemplars=false)", " with(exemplars=true)", " with(exemplars=0)")}
    assert n[""] == n[" with(exemplars=true)"] == 3, n  # one of each trace
    assert n[" with(exemplars=1)"] == 1 and n[" with(exemplars=2)"] == 2 and n[" with(exemplars=false)"] == 0, n
    assert len(samples(query + " with(exemplars=1)", exemplars=50)[1]) == 1, "the hint counts more than the parameter"


def test_streams_take_hints_too():
    for hint in ALL:
        for method, message in (
                ("Search", field(8, f"{{ }} with({hint})")),
                ("MetricsQueryRange", field(1, f"{{ }} | rate() with({hint})") + field(2, START * 10**9) + field(3, END * 10**9)),
                ("MetricsQueryInstant", field(1, f"{{ }} | rate() with({hint})") + field(2, START * 10**9) + field(3, END * 10**9))):
            status, text, _, messages = server.grpc_stream("/tempopb.StreamingQuerier/" + method, message)
            assert status == 0 and any(n == 1 for n, _ in fields(messages[-1])), (method, hint, text)


def test_hints_that_are_none_are_mistakes():
    for query in ("{ } with()", "{ } with(most_recent)", "{ } with(most_recent=)", "{ } with(=true)", "{ } with(a=1,)",
                  "{ } with(a=1) | count() > 1", "{ } with"):
        answer = server.get("/api/search?" + urllib.parse.urlencode({"q": query}))
        assert answer.status == 400 and "parse error at line 1, col" in answer.text, (query, answer.text)


def test_extrapolation_counts_spans_as_often_as_their_samplers_say():
    with Server() as s:
        state = {"a1": "ot=th:c", "a2": "vendor=1,ot=th:8;rv:00000000000001", "a3": "ot=p:3", "a4": "ot=nonsense", "a5": ""}
        send(s, [(place, dict(span, traceState=state[span["spanId"][0] + span["spanId"][-1]]))
                 for place, span in SPANS if span["spanId"][0] + span["spanId"][-1] in state])

        def told(query):
            answer = s.get("/api/metrics/query?" + urllib.parse.urlencode({"q": query, "start": START, "end": END}))
            assert answer.status == 200, answer.text
            return {tuple(str(*a["value"].values()) for a in x["labels"]): x.get("value", 0)
                    for x in json.loads(answer.body)["series"]}
        for _ in range(2):  # in memory, then in a block
            on = " with(extrapolate=true)"
            assert told("{ } | count_over_time()") == {("count_over_time",): 5}
            assert told("{ } | count_over_time()" + on) == {("count_over_time",): 4 + 2 + 8 + 1 + 1}
            assert told("{ } | rate()" + on) == {("rate",): 0.16}
            assert told("{ } | count_over_time() by (resource.service.name)" + on) == {("gateway",): 6, ("cart",): 10}
            assert told("{ span.bytes != nil } | sum_over_time(span.bytes)" + on) == {
                ("sum_over_time",): 2 * 1000 + 8 * 2000 + 300 + 700}
            average = told("{ span.bytes != nil } | avg_over_time(span.bytes)" + on)[("avg_over_time",)]
            assert abs(average - 19000 / 12) < 1e-9, average
            assert told("{ } | max_over_time(duration)" + on) == told("{ } | max_over_time(duration)")
            histogram = told("{ } | histogram_over_time(duration)" + on)
            assert histogram == {("0.536870912",): 15, ("0.134217728",): 1}, histogram
            assert told("{ } | quantile_over_time(duration, 0.05)" + on) == {("0.05",): 0.134217728}
            share = told(f"({{ status = error }} | count_over_time()) / ({{ }} | count_over_time()){on}")
            assert list(share.values()) == [11 / 16], share
            compared = told("{ } | compare({ status = error })" + on)
            assert compared[("selection", "cart")] == 9 and compared[("baseline_total", "nil")] == 5, compared
            assert s.post("/api/v1/flush", b"", "application/json").status == 200


tap.run(sys.modules[__name__])
