#!/usr/bin/env python3
"""TraceQL over HTTP: the worked queries of tests/golden/traceql_search.txt against a real server,
with the fixture's spans sent one by one in several requests, so that traces lie in pieces."""
import json
import os
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from server import Server, tap  # noqa: E402
from traceql_spans import SPANS, T0_S, golden, send  # noqa: E402


def search(query, **params):
    params = dict({"q": query, "limit": 100, "spss": 100}, **params)
    return server.get("/api/search?" + urllib.parse.urlencode(params))


def found(answer):
    """The spans of an answer, oldest trace first, in the words of the golden file."""
    spans = []
    for trace in reversed(json.loads(answer.body)["traces"]):
        for spanset in trace["spanSets"]:
            spans += [s["spanID"] for s in spanset["spans"]]
    return sorted(s[0] + s[-1] for s in spans)


def worked_queries():
    for query, result in golden("traceql_search.txt"):
        yield query, result[4:]


def wanted(text):
    return sorted(w for w in text.replace("[", " ").replace("]", " ").split()
                  if len(w) == 2 and w[0] in "abc" and w[1] in "123456")


server = Server().start()


def check_all():
    wrong = []
    for query, want in worked_queries():
        answer = search(query)
        got = "ERROR" if answer.status == 400 else found(answer) if answer.status == 200 else answer.text
        if got != (wanted(want) if want != "ERROR" else "ERROR"):
            wrong.append(f"{query}\n gives {got}\n not   {want}")
    assert not wrong, "\n".join(wrong)


def test_worked_queries_find_spans_in_memory():
    send(server, SPANS[1::2] + SPANS[::2])
    check_all()


def test_worked_queries_find_spans_in_a_block():
    assert server.post("/api/v1/flush", b"", "application/json").status == 200
    check_all()


def test_worked_queries_find_traces_in_pieces_some_spans_twice():
    send(server, [(place, dict(s, traceState="late=1")) for place, s in SPANS[:3]])
    check_all()


def test_a_row_says_root_and_duration_and_spss_cuts_spans_but_not_counts():
    trace = json.loads(search("{ status = error } | count() > 1", spss=2, limit=1).body)["traces"][0]
    assert (trace["traceID"], trace["rootServiceName"], trace["rootTraceName"], trace["durationMs"]) == (
        "1" * 32, "gateway", "GET /cart", 500), trace
    assert len(trace["spanSet"]["spans"]) == 2 and trace["spanSet"]["matched"] == 3, trace
    assert trace["spanSet"]["attributes"] == [{"key": "count()", "value": {"intValue": "3"}}], trace
    assert trace["serviceStats"]["cart"] == {"spanCount": 3, "errorCount": 2}, trace


def test_the_newest_traces_come_first_and_survive_the_limit():
    answer = search("{}", limit=2)
    assert [t["traceID"][0] for t in json.loads(answer.body)["traces"]] == ["3", "2"]
    assert answer.headers["x-spanflame-limit"].startswith("the newest 2 traces"), answer.headers
    assert "x-spanflame-limit" not in search("{}", limit=100).headers
    assert [t["traceID"][0] for t in json.loads(search("{ } with(most_recent=true)", limit=1).body)["traces"]] == ["3"]


def test_a_range_gives_whole_traces_that_overlap_it():
    assert found(search("{}", start=T0_S + 1, end=T0_S + 2)) == ["b1", "b2", "c2", "c3"]


def test_selected_values_come_with_the_spans():
    trace = json.loads(search("{ status = error } | select(span.bytes, name, nestedSetLeft, event.exception.message)")
                       .body)["traces"][0]
    third = [s for s in trace["spanSet"]["spans"] if s["spanID"] == "a000000000000003"][0]
    assert third["name"] == "POST /items"
    values = {a["key"]: a["value"] for a in third["attributes"]}
    assert values == {"status": {"stringValue": "error"}, "bytes": {"intValue": "2000"},
                      "nestedSetLeft": {"intValue": "3"}, "exception.message": {"stringValue": "disk full"}}, values


def test_comments_and_empty_fields_are_read_over_http():
    everything = found(search("{ }"))
    assert everything
    for query in ("{ true } // the end", "// first\n{ /* inside */ }",
                  "{ name != nil && rootName != nil && statusMessage != nil && span:parentID != nil && kind != nil }"):
        assert found(search(query)) == everything, query
    assert not found(search("{ nil = nil }")) and not found(search("{ nil != nil }"))


def test_a_metrics_query_with_numbers_finds_the_spans_it_counts():
    assert found(search("100 * ({ status = error } | rate()) / 2")) == found(search("{ status = error }"))
    answer = search("({ } | rate()) / ({ } | rate())")
    assert answer.status == 400 and "math expressions not supported" in answer.text, answer.text


def test_bad_and_hostile_requests_are_refused_in_words():
    for query, params, words in [("{ .a == 4 }", {}, "invalid TraceQL query: parse error at line 1, col 7"),
                                 ("{}", {"limit": 0}, "must be a positive number"),
                                 ("{}", {"limit": 2**31}, "exceeds max limit"),
                                 ("{}", {"spss": 101}, "spans per span set exceeds 100"),
                                 ("{}", {"start": 5}, "both"),
                                 ("{" + "(" * 9000, {}, "nested deeper")]:
        answer = search(query, **params)
        assert answer.status == 400 and words in answer.text, (query[:20], answer.status, answer.text)
    assert search("{ name =~ `" + "(a|aa)+" * 200 + "` }").status == 200
    assert server.get("/ready").status == 200


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
