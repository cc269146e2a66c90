#!/usr/bin/env python3
"""/metrics read as strictly as a scraper may, and the numbers in it."""
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
from exposition import OPEN, check, labels  # noqa: E402
from server import JSON, Server, attribute, export_request, field, make_span, span_message, tap  # noqa: E402

server = Server().start()


def test_both_formats_are_right_to_the_letter():
    server.send([make_span(name='odd "name"\\ \n end', service="caf\u00e9")])
    answer = server.get("/metrics")
    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    plain = check(answer.text, False)
    answer = server.get("/metrics", OPEN)
    assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    strict = check(answer.text, True)
    assert {n for n, _ in plain} == {n for n, _ in strict}


def test_a_request_too_large_to_hold_decoded_is_counted_like_any_other():
    n = 150_000
    one = make_span(service="bulk", name="import", ms=3)
    message = span_message(one)
    place = message.index(one["span_id"])
    spans = b"".join(field(2, message[:place] + i.to_bytes(8, "big") + message[place + 8:]) for i in range(1, n + 1))
    resource = field(1, attribute(1, "service.name", "bulk"))
    answer = server.post("/v1/traces", field(1, resource + field(2, spans)))
    assert (answer.status, answer.body) == (200, b""), answer.text
    series = labels(service="bulk", span_name="import", span_kind="SPAN_KIND_SERVER", status_code="STATUS_CODE_UNSET")
    samples = check(server.metrics(), False)
    assert samples[("traces_spanmetrics_calls_total", series)] == n
    assert samples[("traces_spanmetrics_latency_count", series)] == n


def test_spans_make_red_metrics_with_tempos_names():
    server.send([make_span(service="red", name="op", ms=3) for _ in range(7)]
                + [make_span(service="red", name="op", ms=700, error=True) for _ in range(2)])
    samples = check(server.metrics(), False)
    ok = labels(service="red", span_name="op", span_kind="SPAN_KIND_SERVER", status_code="STATUS_CODE_UNSET")
    bad = labels(service="red", span_name="op", span_kind="SPAN_KIND_SERVER", status_code="STATUS_CODE_ERROR")
    assert samples[("traces_spanmetrics_calls_total", ok)] == 7
    assert samples[("traces_spanmetrics_calls_total", bad)] == 2
    assert samples[("traces_spanmetrics_latency_bucket", ok + ',le="0.004"')] == 7
    assert samples[("traces_spanmetrics_latency_bucket", bad + ',le="0.512"')] == 0
    assert samples[("traces_spanmetrics_latency_bucket", bad + ',le="1.024"')] == 2
    assert abs(samples[("traces_spanmetrics_latency_sum", bad)] - 1.4) < 1e-6
    assert samples[("traces_spanmetrics_size_total", ok)] > 7 * 40


def test_exemplars_lead_to_the_trace():
    span = make_span(service="exemplary", ms=3)
    server.send([span])
    text = server.metrics(OPEN)
    line = next(t for t in text.splitlines() if 'service="exemplary"' in t and 'le="0.004"' in t)
    assert f'# {{traceID="{span["trace_id"].hex()}"}} 0.003' in line, line


def test_old_spans_make_no_metrics_but_are_kept():
    before = server.metric('spanflame_span_metrics_ignored_spans_total{reason="outside_metrics_ingestion_slack"}')
    span = make_span(service="yesterday", ago_ms=86400000)
    server.send([span])
    assert 'service="yesterday"' not in server.metrics()
    after = server.metric('spanflame_span_metrics_ignored_spans_total{reason="outside_metrics_ingestion_slack"}')
    assert after == before + 1
    assert server.get("/api/traces/" + span["trace_id"].hex()).status == 200


def test_what_is_received_refused_and_discarded_is_counted():
    names = ("spanflame_spans_received_total", "spanflame_spans_acknowledged_total",
             'tempo_distributor_spans_received_total{tenant="single-tenant"}',
             'tempo_discarded_spans_total{tenant="single-tenant",reason="invalid_span_id"}',
             'spanflame_requests_rejected_total{reason="malformed"}',
             'spanflame_requests_rejected_total{reason="content_type"}',
             'spanflame_requests_total{route="/v1/traces",status="400"}')
    before = [server.metric(n) for n in names]
    bad = make_span()
    bad["span_id"] = bytes(8)
    assert server.post("/v1/traces", export_request([make_span(), make_span(), bad])).status == 200
    assert server.post("/v1/traces", b"{", JSON).status == 400
    assert server.post("/v1/traces", b"", "text/plain").status == 415
    after = [server.metric(n) for n in names]
    assert [a - b for a, b in zip(after, before)] == [3, 2, 3, 1, 1, 1, 1], (before, after)


def test_the_server_shows_its_inside():
    samples = check(server.metrics(), False)
    for name, label in (("spanflame_queue_depth", 'queue="ingest"'), ("spanflame_memory_bytes", 'line="store"'),
                        ("spanflame_memory_budget_bytes", None), ("spanflame_blocks", 'level="0"'),
                        ("spanflame_connections", None), ("process_resident_memory_bytes", None),
                        ("spanflame_log_sync_seconds_count", None), ("spanflame_ready", None)):
        assert (name, label) in samples, (name, label)
    assert samples[("spanflame_log_sync_seconds_count", None)] > 0
    assert samples[("spanflame_ready", None)] == 1
    assert 1e6 < samples[("process_resident_memory_bytes", None)] < 512e6


def test_a_flood_of_names_stays_below_the_cap():
    for i in range(6):
        server.send([make_span(service="flood", name=f"GET /item/{i}/{n}") for n in range(500)])
    samples = check(server.metrics(), False)
    assert samples[("spanflame_span_metrics_series", None)] <= 2000
    assert samples[("spanflame_span_metrics_ignored_spans_total", 'reason="too_many_series"')] >= 1000


tap.run(sys.modules[__name__])
