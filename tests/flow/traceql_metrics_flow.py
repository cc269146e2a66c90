#!/usr/bin/env python3
"""TraceQL metrics over HTTP: the worked queries of tests/golden/traceql_metrics.txt against a real server,
in memory, in a block and in pieces; ranges, exemplars, and requests that would never end."""
import json
import os
import subprocess
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from server import PROGRAM, Server, tap  # noqa: E402
from traceql_spans import SPANS, T0_S, golden, send  # noqa: E402

WINDOW = {"start": T0_S - 50, "end": T0_S + 50}
server = Server().start()


def ask(path, query, **params):
    return server.get(f"/api/metrics/{path}?" + urllib.parse.urlencode({**WINDOW, "q": query, **params}))


def labels(series):
    def text(value):
        (kind, v), = value.items()
        return f"{v:.9g}" if kind == "doubleValue" else str(v)
    return " ".join(f"{a['key']}={text(a['value'])}" for a in series["labels"])


def told(answer):
    return [f"{labels(s)}: {s.get('value', 0):.6g}" for s in json.loads(answer.body)["series"]]


def check_all():
    wrong = []
    for query, line in golden("traceql_metrics.txt"):
        want = [w for w in line[4:].replace(": nan", ": 0").split("; ") if w]
        answer = ask("query", query)
        got = told(answer) if answer.status == 200 else answer.text
        if (got != want) if line[2] == "=" else not set(want) <= set(got):
            wrong.append(f"{query}\n gives {got}\n not   {want}")
    assert not wrong, "\n".join(wrong)


def run(*args, stdin="", columns=80):
    env = dict(os.environ, SPANFLAME_SERVER=f"http://127.0.0.1:{server.port}", COLUMNS=str(columns))
    return subprocess.run([PROGRAM, "metrics", *args], input=stdin, capture_output=True, env=env, check=False,
                          encoding="utf-8")


def values(series):
    return [s.get("value", 0) for s in series["samples"]]


def test_worked_queries_count_spans_in_memory():
    send(server, SPANS[1::2] + SPANS[::2])
    check_all()


def test_worked_queries_count_spans_in_a_block():
    assert server.post("/api/v1/flush", b"", "application/json").status == 200
    check_all()


def test_worked_queries_count_a_span_that_came_twice_once():
    send(server, [(place, dict(s, traceState="late=1")) for place, s in SPANS[:3]])
    check_all()


def test_a_range_is_aligned_and_its_steps_are_closed_on_the_right():
    for step in ("100", "100s", "1m40s"):
        answer = json.loads(ask("query_range", "{ } | count_over_time()", step=step).body)
        series = answer["series"][0]
        assert [s["timestampMs"] for s in series["samples"]] == [
            str((T0_S + at) * 1000) for at in (-100, 0, 100)], series
        assert values(series) == [0, 1, 9], series
        assert "status" not in answer, answer


def test_times_may_be_written_in_many_ways():
    import datetime
    start = datetime.datetime.fromtimestamp(T0_S - 50, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    want = ask("query_range", "{ } | rate()", step=10).body
    want = json.loads(want)["series"]
    for times in ({"start": (T0_S - 50) * 10**9, "end": f"{T0_S + 50}.0"}, {"start": start}):
        answer = json.loads(ask("query_range", "{ } | rate()", **dict({"step": 10}, **times)).body)
        assert answer["series"] == want, answer
    answer = server.get("/api/metrics/query?" + urllib.parse.urlencode({"query": "{ } | count_over_time()"}))
    assert told(answer) == ["__name__=count_over_time: 10"], answer.text


def test_a_span_counts_though_what_it_stands_in_relation_to_lies_outside_the_range():
    # a4 ends 130 ms after T0; its sibling a5 starts at 140 ms
    window = {"start": f"{T0_S}.135", "end": T0_S + 10}
    for query, want in (('{ name = "SELECT items" } ~ { }', 1), ('{ name = "SELECT items" } && { kind = internal }', 1),
                        ('{ name = "SELECT items" }', None), ("{ status = error } | count() > 2", 1)):
        answer = ask("query", query + " | count_over_time()", **window)
        assert [s["value"] for s in json.loads(answer.body)["series"]] == ([want] if want else []), (query, answer.text)


def test_exemplars_name_the_trace_and_what_the_query_touched():
    series = json.loads(ask("query_range", "{ kind = server } | max_over_time(duration)", step=100).body)["series"][0]
    exemplars = series["exemplars"]
    assert len(exemplars) == 2 and exemplars[0]["value"] == 0.5, exemplars
    assert exemplars[0]["timestampMs"] == str(T0_S * 1000)
    names = {a["key"]: a["value"] for a in exemplars[0]["labels"]}
    assert names["trace:id"] == {"stringValue": "1" * 32} and names["kind"] == {"stringValue": "server"}, names
    for query, params in (("{ } | rate() with(exemplars=1)", {}), ("{ } | rate()", {"exemplars": 1})):
        assert len(json.loads(ask("query_range", query, step=100, **params).body)["series"][0]["exemplars"]) == 1
    assert "exemplars" not in json.loads(ask("query_range", "{ } | rate() with(exemplars=false)").body)["series"][0]


def test_too_many_series_are_cut_and_said_so():
    answer = json.loads(ask("query", "{ } | rate() by (span:id)", maxSeries=3).body)
    assert len(answer["series"]) == 3 and answer["status"] == "PARTIAL", answer
    assert answer["message"].startswith("Response exceeds maximum series limit of 3, a partial response is returned.")


def test_an_instant_answer_has_no_field_a_strict_parser_would_refuse():
    answer = json.loads(ask("query", "{ } | rate()").body)
    assert set(answer) == {"series", "metrics"} and set(answer["series"][0]) == {"labels", "value"}, answer
    assert server.get("/api/metrics/query?q=%7B%7D%7Crate()", {"accept": "application/protobuf"}).headers[
        "content-type"] == "application/json"


def test_bad_and_hostile_requests_are_refused_in_words():
    for query, params, words in [
            ("{ }", {}, "not a metrics query"),
            ("", {}, "please provide"),
            ("{ .a == 4 } | rate()", {}, "invalid TraceQL query: parse error at line 1, col 7"),
            ("{ } | rate()", {"start": 10, "end": 5}, "end must be greater than start"),
            ("{ } | rate()", {"start": 0}, "metrics query time range exceeds the maximum allowed duration of 24h0m0s"),
            ("{ } | rate()", {"start": 0, "end": 2**63 - 1}, "exceeds the maximum"),
            ("{ } | rate()", {"start": 0, "end": 2**64}, "invalid end"),
            ("{ } | rate()", {"step": "1ns"}, "step of 1ns is too small, minimum step for given range is 10ms"),
            ("{ } | rate()", {"step": '"x'}, "invalid step"),
            ("{ } | rate()", {"step": "9" * 40}, "invalid step"),
            ("{ } | rate()", {"step": "-5s"}, "invalid step"),
            ("{ } | rate()", {"step": "50000h"}, "step must be"),
            ("{ } | rate()", {"maxSeries": "many"}, "invalid maxSeries"),
            (" + ".join(["({ } | rate())"] * 500), {}, "more than 64 metrics queries")]:
        answer = ask("query_range", query, **params)
        assert answer.status == 400 and words in answer.text, (query[:20], params, answer.status, answer.text)
    assert ask("query_range", "{ } | compare({ }, 1000)", step="10ms").status == 200
    assert server.get("/ready").status == 200


def test_the_command_draws_a_chart_that_fits():
    for columns in (60, 80, 200):
        for query in ("{ } | count_over_time()", "{ } | rate() by (resource.service.name)",
                      "{ } | quantile_over_time(duration, .5, .99)", "{ } | compare({ status = error })"):
            done = run(query, columns=columns)
            assert done.returncode == 0 and "\u2588" in done.stdout and "UTC" in done.stdout, done
            assert all(len(line) <= columns for line in done.stdout.splitlines()), done.stdout
    lines = [line.split() for line in run("{ } | rate() by (resource.service.name, kind)").stdout.splitlines()]
    assert ["cart", "client"] in [line[:2] for line in lines], "what tells lines apart is not cut off"
    assert "span.retry=true" in run("{ } | rate() by (span.retry)").stdout
    assert "baseline kind=client" in run("{ } | compare({ status = error })", columns=120).stdout
    assert "500 ms" in run("{ } | max_over_time(duration)").stdout


def test_the_command_gives_json_reads_stdin_and_names_mistakes():
    done = run("-", "--output", "json", "--from", str(T0_S - 50), "--until", str(T0_S + 50), "--step", "100s",
               stdin="# a comment\n{ } | count_over_time()\n")
    assert values(json.loads(done.stdout)["series"][0]) == [0, 1, 9], done
    assert "nothing to count" in run("{ false } | rate()").stdout
    for args, words in ((["{ } | rate("], "^"), (["{ }"], "finds traces"), (["{ } | rate()", "--until", "5"], "--from"),
                        ([], "one query"), (["{ } | rate()", "--step", "soon"], "--step")):
        done = run(*args)
        assert done.returncode == 2 and words in done.stderr, done
    assert run("{ } | rate()", "--since", "48h").returncode == 1


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
