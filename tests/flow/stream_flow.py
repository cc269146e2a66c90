#!/usr/bin/env python3
"""tempopb.StreamingQuerier over h2c on the same port, compared with the answers over HTTP."""
import gzip
import json
import os
import struct
import sys
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from server import Server, field, fields, first, make_span, tap  # noqa: E402
from traceql_spans import SPANS, T0_S, send  # noqa: E402

SERVICE = "/tempopb.StreamingQuerier/"
INVALID_ARGUMENT, UNIMPLEMENTED, UNAUTHENTICATED = 3, 12, 16
PB = {"Accept": "application/protobuf"}

server = Server().start()
send(server, SPANS)


def stream(method, message, **more):
    status, text, _, messages = server.grpc_stream(SERVICE + method, message, **more)
    assert status == 0, (status, text)
    return messages


def one(method, message):
    messages = stream(method, message)
    assert len(messages) == 1, messages
    return messages[0]


def over_http(path, **params):
    answer = server.get(path + "?" + urllib.parse.urlencode(params), headers=PB)
    assert answer.status == 200, answer.text
    return answer.body


def without_metrics(message):
    return [(n, v) for n, v in fields(message) if n != 2]


def search_request(query="{}", limit=20, spss=3, start=0, end=0):
    return (field(4, limit) + (field(5, start) if start else b"") + (field(6, end) if end else b"")
            + field(8, query) + field(9, spss))


def test_a_search_says_what_http_says():
    for query in ("{}", "{ status = error }", "{ duration > 100ms } | count() > 1", "{ name = `nothing` }"):
        got = one("Search", search_request(query, start=T0_S - 5, end=T0_S + 600))
        want = over_http("/api/search", q=query, limit=20, spss=3, start=T0_S - 5, end=T0_S + 600)
        assert without_metrics(got) == without_metrics(want), query
        assert first(first(got, 2), 4) == 1 and first(first(got, 2), 5) == 1, "all jobs are complete in the end"


def test_the_health_check_of_a_data_source_ends_well_without_any_trace():
    message = one("Search", search_request("{}", limit=1, start=1000, end=1900))
    assert [n for n, _ in fields(message)] == [2], message


def test_old_tags_and_durations_are_taken_in_messages_too():
    tag = field(1, field(1, "service.name") + field(2, "cart"))
    got = one("Search", tag + field(2, 400))
    want = over_http("/api/search", tags="service.name=cart", minDuration="400ms")
    assert first(got, 1) and without_metrics(got) == without_metrics(want)


def test_names_and_values_say_what_http_says():
    span = make_span(attributes={"colour": "red", "n": 5}, service="painter")
    server.send([span])
    for method, request, path, params in (
            ("SearchTags", b"", "/api/search/tags", {}),
            ("SearchTags", field(1, "intrinsic"), "/api/search/tags", {"scope": "intrinsic"}),
            ("SearchTagsV2", field(2, '{ resource.service.name = "painter" }'), "/api/v2/search/tags",
             {"q": '{ resource.service.name = "painter" }'}),
            ("SearchTagsV2", field(1, "span"), "/api/v2/search/tags", {"scope": "span"}),
            ("SearchTagValues", field(1, "colour"), "/api/search/tag/colour/values", {}),
            ("SearchTagValuesV2", field(1, "span.colour") + field(2, "{ name = "),
             "/api/v2/search/tag/span.colour/values", {}),
            ("SearchTagValuesV2", field(1, "status"), "/api/v2/search/tag/status/values", {})):
        got = without_metrics(one(method, request))
        assert got and got == without_metrics(over_http(path, **params)), (method, got)
    assert first(one("SearchTagValues", field(1, "colour")), 1) == b"red"
    assert [first(v, 2) for n, v in fields(one("SearchTagValuesV2", field(1, "span.n"))) if n == 1] == [b"5"]


def double(message, number):
    value = first(message, number)
    return None if value is None else struct.unpack("<d", struct.pack("<Q", value))[0]


def series_of_json(answer):
    return {tuple((la["key"], la["value"]["stringValue"]) for la in s["labels"]):
            s.get("value", [(int(p["timestampMs"]), p.get("value", 0)) for p in s.get("samples", [])])
            for s in answer["series"]}


def label_pairs(series):
    return tuple((first(v, 1).decode(), first(first(v, 2), 1).decode()) for n, v in fields(series) if n == 1)


def test_metrics_say_what_http_says():
    query = "{} | rate() by (resource.service.name)"
    start, end = T0_S - 10, T0_S + 50
    got = one("MetricsQueryRange", field(1, query) + field(2, start * 10**9) + field(3, end * 10**9)
              + field(4, 10 * 10**9))
    want = series_of_json(server.json("/api/metrics/query_range?" + urllib.parse.urlencode(
        {"q": query, "start": start, "end": end, "step": "10s"})))
    found = {label_pairs(s): [(first(p, 2), double(p, 1) or 0) for k, p in fields(s) if k == 2]
             for n, s in fields(got) if n == 1}
    assert found and found == want, (found, want)
    got = one("MetricsQueryInstant", field(1, query) + field(2, start * 10**9) + field(3, end * 10**9))
    want = series_of_json(server.json("/api/metrics/query?" + urllib.parse.urlencode(
        {"q": query, "start": start, "end": end})))
    assert want and {label_pairs(s): double(s, 2) for n, s in fields(got) if n == 1} == want


def test_bad_requests_are_invalid_arguments_with_the_sentence_http_has():
    for method, message, sentence in (
            ("Search", search_request("{ name = }"), "parse error"),
            ("Search", search_request(limit=2**31), "exceeds max limit"),
            ("Search", search_request(spss=101), "spans per span set"),
            ("Search", search_request(start=20, end=10), "start must be before end"),
            ("Search", field(5, 10), "only one of start and end"),
            ("Search", b"\x0a\xff", "SearchRequest"),
            ("Search", field(8, "x" * (129 * 1024)), "longer than"),
            ("Search", field(8, "x" * (300 * 1024)), "longer than"),
            ("Search", field(1, field(1, "a") + field(2, "b")) + field(8, "{}"), "tags and q"),
            ("SearchTags", field(1, "everything"), "invalid scope"),
            ("SearchTagValuesV2", field(1, "no identifier"), "valid tagName"),
            ("MetricsQueryRange", field(1, "{}"), "not a metrics query"),
            ("MetricsQueryRange", b"", "please provide"),
            ("MetricsQueryInstant", field(1, "{} | rate()") + field(2, 10) + field(3, 5), "end must be")):
        status, text, _, messages = server.grpc_stream(SERVICE + method, message)
        assert status == INVALID_ARGUMENT and sentence in urllib.parse.unquote(text) and not messages, (method, text)


def test_a_compressed_request_is_read():
    packed = gzip.compress(search_request())
    assert stream("Search", packed, headers=["grpc-encoding: gzip"], compressed=True)


def test_an_unknown_method_is_unimplemented_and_plain_http_is_told_where_to_ask():
    assert server.grpc(SERVICE + "Nothing", b"")[0] == UNIMPLEMENTED
    answer = server.post(SERVICE + "Search", b"")
    assert answer.status == 415 and "/api/search" in answer.text, answer.text


def test_long_answers_come_in_messages_of_about_a_megabyte_and_lose_nothing():
    spans = [make_span(attributes={"text": "x" * 3000}, service="long") for _ in range(800)]
    server.send(spans)
    messages = stream("Search", search_request('{ resource.service.name = "long" && span.text != nil }', limit=1000))
    assert 2 <= len(messages) and max(map(len, messages)) < 2 * 1024 * 1024, list(map(len, messages))
    ids = [first(t, 1).decode().zfill(32) for m in messages for n, t in fields(m) if n == 1]
    # A slow machine sends updates before, which may show some of them: in the end all are stated once more.
    assert sorted(ids[-len(spans):]) == sorted(s["trace_id"].hex() for s in spans)
    assert all(first(m, 2) is not None for m in messages), "metrics are in every message"


def test_tenants_and_tokens_are_asked_for_as_over_http():
    with Server(config="tenancy:\n  enabled: true\n") as tenants:
        span = make_span()
        tenants.send([span], headers={"X-Scope-OrgID": "a"})
        ask = lambda *headers: tenants.grpc(SERVICE + "Search", search_request(), headers=headers)
        assert ask()[0] == UNAUTHENTICATED
        assert first(ask("x-scope-orgid: a")[3], 1) and not first(ask("x-scope-orgid: b")[3], 1)


def test_what_a_limit_cut_is_not_said_to_be_complete():
    assert server.json("/api/search?limit=1")["metrics"]["completedJobs"] == 1
    with Server(config="limits:\n  query_memory: 1MiB\n") as small:
        small.send([make_span(attributes={"text": "y" * 3000}) for _ in range(900)])
        path = "/api/search?" + urllib.parse.urlencode({"q": "{ span.text != nil }", "limit": 900})
        answer = small.get(path)
        assert answer.status == 200 and "memory" in answer.headers["x-spanflame-partial"], answer.text[:200]
        assert "completedJobs" not in json.loads(answer.body)["metrics"]


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
