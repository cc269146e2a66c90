#!/usr/bin/env python3
"""Traces and services read back in every shape."""
import base64
import gzip
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from server import PROGRAM, Server, fields, first, make_span, span_ids, tap  # noqa: E402

server = Server().start()


def story():
    """root 100 ms, two children one after the other, one of them failed"""
    now = time.time_ns()
    trace = os.urandom(16)

    def span(name, start, end, parent=None, **more):
        return dict({"trace_id": trace, "span_id": os.urandom(8), "parent": parent, "name": name,
                     "start": now - 100_000_000 + start * 1_000_000, "end": now - 100_000_000 + end * 1_000_000}, **more)
    root = span("GET /cart", 0, 100, service="front")
    a = span("check", 10, 40, root["span_id"], service="stock", kind=3)
    b = span("charge", 50, 95, root["span_id"], service="bank", error=True)
    return [root, a, b]


def test_v1_json_has_base64_ids_and_string_numbers():
    spans = story()
    server.send(spans)
    answer = server.get("/api/traces/" + spans[0]["trace_id"].hex())
    assert answer.headers["Content-Type"] == "application/json"
    body = json.loads(answer.body)
    assert list(body) == ["batches"] and len(body["batches"]) == 3
    for batch in body["batches"]:
        assert "resource" in batch
        for ss in batch["scopeSpans"]:
            assert "scope" in ss
            for s in ss["spans"]:
                assert base64.b64decode(s["traceId"]) == spans[0]["trace_id"]
                assert s["startTimeUnixNano"].isdigit() and "status" in s
    names = [ss["spans"][0]["name"] for b in body["batches"] for ss in b["scopeSpans"]]
    assert names == ["GET /cart", "check", "charge"], names


def test_v2_json_wraps_the_trace():
    spans = story()
    server.send(spans)
    body = server.json("/api/v2/traces/" + spans[0]["trace_id"].hex())
    assert len(body["trace"]["resourceSpans"]) == 3 and "metrics" in body and "status" not in body


def test_protobuf_is_given_when_asked_for():
    spans = story()
    server.send(spans)
    path = spans[0]["trace_id"].hex()
    answer = server.get("/api/traces/" + path, {"Accept": "application/protobuf"})
    assert answer.headers["Content-Type"] == "application/protobuf"
    assert len([1 for n, _ in fields(answer.body) if n == 1]) == 3
    answer = server.get("/api/v2/traces/" + path, {"Accept": "application/protobuf"})
    trace = first(answer.body, 1)
    for number, resource_spans in fields(trace):
        assert number == 1 and first(resource_spans, 1) is not None
        scope_spans = first(resource_spans, 2)
        assert first(scope_spans, 1) is not None
        span = first(scope_spans, 2)
        assert first(span, 1) == spans[0]["trace_id"] and first(span, 15) is not None


def test_not_found_is_404_in_v1_and_an_empty_trace_in_v2():
    answer = server.get("/api/traces/abcdef")
    assert (answer.status, answer.body) == (404, b"")
    assert server.json("/api/v2/traces/abcdef")["trace"] == {}
    answer = server.get("/api/v2/traces/abcdef", {"Accept": "application/protobuf"})
    assert answer.status == 200 and first(answer.body, 1) == b""
    assert server.get("/api/v1/trace/abcdef").status == 404


def test_ids_are_hex_of_any_length_and_case():
    trace = bytes(8) + os.urandom(8)
    server.send([make_span(trace)])
    for text in (trace.hex(), trace.hex().upper(), trace.hex()[16:], trace.hex().lstrip("0")):
        assert server.get("/api/traces/" + text).status == 200, text
    answer = server.get("/api/traces/12x")
    assert answer.status == 400 and "invalid character 'x' at position 3" in answer.text
    answer = server.get("/api/traces/" + "1" * 33)
    assert answer.status == 400 and "128 bits" in answer.text


def test_start_and_end_are_checked_and_only_narrow():
    spans = story()
    server.send(spans)
    path = "/api/traces/" + spans[0]["trace_id"].hex()
    now = int(time.time())
    assert server.get(f"{path}?start={now - 3600}&end={now + 3600}").status == 200
    answer = server.get(f"{path}?start={now}&end={now - 5}")
    assert answer.status == 400 and "start must be before end" in answer.text
    assert server.get(f"{path}?start={now}").status == 400
    assert server.get(f"{path}?start=x&end=y").status == 400


def test_answers_are_gzipped_when_asked():
    trace = os.urandom(16)
    server.send([make_span(trace, name="a name that repeats") for _ in range(200)])
    answer = server.get("/api/traces/" + trace.hex(), {"Accept-Encoding": "gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert len(json.loads(gzip.decompress(answer.body))["batches"]) == 1


def test_copies_are_merged_and_the_later_end_wins():
    span = make_span()
    late = dict(span, end=span["end"] + 5_000_000)
    server.send([span])
    server.send([late])
    server.send([dict(span, end=span["end"] - 1)])
    body = json.loads(server.get("/api/traces/" + span["trace_id"].hex()).body)
    found = body["batches"][0]["scopeSpans"][0]["spans"]
    assert len(found) == 1 and found[0]["endTimeUnixNano"] == str(late["end"]), found


def test_a_server_span_with_its_clients_id_gets_one_of_its_own():
    client = make_span(service="front", kind=3, ms=50)
    shared = dict(client, service="back", kind=2, start=client["start"] + 1000)
    server.send([client, shared])
    spans = [s for b in json.loads(server.get("/api/traces/" + client["trace_id"].hex()).body)["batches"]
             for ss in b["scopeSpans"] for s in ss["spans"]]
    by_kind = {s["kind"]: s for s in spans}
    assert by_kind["SPAN_KIND_SERVER"]["spanId"] != by_kind["SPAN_KIND_CLIENT"]["spanId"]
    assert by_kind["SPAN_KIND_SERVER"]["parentSpanId"] == by_kind["SPAN_KIND_CLIENT"]["spanId"]


def test_our_own_shape_is_flat_with_the_critical_path():
    spans = story()
    server.send(spans)
    body = server.json("/api/v1/trace/" + spans[0]["trace_id"].hex())
    assert [(s["name"], s["depth"]) for s in body["spans"]] == [("GET /cart", 0), ("check", 1), ("charge", 1)]
    assert body["durationNs"] == 100_000_000 == body["criticalNs"]
    assert [s["criticalNs"] for s in body["spans"]] == [25_000_000, 30_000_000, 45_000_000]
    assert body["spans"][2]["status"] == "STATUS_CODE_ERROR" and body["isExact"]
    assert body["spans"][0]["critical"][0] == {"startOffsetNs": 0, "durationNs": 10_000_000}


def test_services_come_with_rates_errors_and_quantiles():
    name = "svc-" + os.urandom(4).hex()
    server.send([make_span(service=name, name="fast", ms=2) for _ in range(90)]
                + [make_span(service=name, name="slow", ms=400, error=True) for _ in range(10)])
    body = server.json(f"/api/v1/services?from=now-10m&service={name}")
    assert len(body["services"]) == 1, body
    service = body["services"][0]
    assert (service["service"], service["spans"], service["errors"]) == (name, 100, 10), service
    assert [o["operation"] for o in service["operations"]] == ["fast", "slow"]
    assert abs(service["p50Ns"] / 2e6 - 1) <= 0.1 and abs(service["p99Ns"] / 400e6 - 1) <= 0.1 and body["isQuantileEstimate"], body
    told = subprocess.run([PROGRAM, "services", "--server", f"http://127.0.0.1:{server.port}"], capture_output=True, text=True, check=True)
    row = next(line for line in told.stdout.splitlines() if line.startswith(name))
    assert row.count("~") == 3, row
    assert abs(service["ratePerSecond"] - 100 / 600) < 0.01
    everything = server.json("/api/v1/services?from=now-10m")
    assert name in [s["service"] for s in everything["services"]]
    assert server.get("/api/v1/services?from=tomorrow").status == 400


def test_erased_traces_are_gone_at_once():
    keep, drop = make_span(), make_span()
    server.send([keep, drop])
    answer = server.post("/api/v1/erase", json.dumps({"traces": [drop["trace_id"].hex()]}), "application/json")
    assert answer.status == 200 and json.loads(answer.body)["erased"], answer.text
    assert server.get("/api/traces/" + drop["trace_id"].hex()).status == 404
    assert span_ids(server.get("/api/traces/" + keep["trace_id"].hex())) == [keep["span_id"]]


def erase_command(*args):
    return subprocess.run([PROGRAM, "erase", *args, "--yes", "--server", f"http://127.0.0.1:{server.port}"],
                          capture_output=True, text=True, check=False)


def test_erase_answers_in_json_when_asked():
    drop = make_span()
    server.send([drop])
    done = erase_command(drop["trace_id"].hex(), "--output", "json")
    assert done.returncode == 0 and json.loads(done.stdout)["spans"] == 1, done
    assert server.get("/api/traces/" + drop["trace_id"].hex()).status == 404
    assert erase_command("--all", "--output", "csv").returncode == 2


def test_a_service_is_erased_without_touching_others():
    trace = os.urandom(16)
    name = "gone-" + os.urandom(4).hex()
    a, b = make_span(trace, service=name), make_span(trace, service="stays")
    server.send([a, b])
    assert server.request("DELETE", f"/api/v1/erase?service={name}").status == 200
    assert span_ids(server.get("/api/traces/" + trace.hex())) == [b["span_id"]]
    assert server.post("/api/v1/erase", b"{}", "application/json").status == 400
    assert server.post("/api/v1/erase", b'{"sevrice":"x"}', "application/json").status == 400


def test_everything_is_there_after_a_flush():
    spans = story()
    server.send(spans)
    assert server.post("/api/v1/flush", b"", "application/json").status == 200
    assert len(span_ids(server.get("/api/traces/" + spans[0]["trace_id"].hex()))) == 3


def test_grafanas_questions_are_answered():
    answer = server.get("/api/echo")
    assert (answer.status, answer.body) == (200, b"echo\n")
    info = server.json("/api/status/buildinfo")
    assert tuple(int(n) for n in info["version"].split(".")[:2]) >= (2, 10)
    assert set(info) == {"version", "revision", "branch", "buildUser", "buildDate", "goVersion"}
    assert server.get("/status/version").text.startswith("spanflame ")


def test_the_server_describes_itself_in_plain_text():
    pages = {name: server.get("/status" + name) for name in ("", "/version", "/services", "/endpoints", "/config")}
    for name, page in pages.items():
        assert page.status == 200 and page.headers["Content-Type"].startswith("text/plain"), (name, page.status)
    parts = dict(line.split()[:2] for line in pages["/services"].text.splitlines())
    assert parts == {name: "Running" for name in ("listener", "ingest", "point", "query", "store")}, parts
    routes = pages["/endpoints"].text.splitlines()
    assert any(r.split() == ["GET", "read", "/api/search"] for r in routes), routes
    assert any(r.startswith("gRPC    write   /opentelemetry.") for r in routes), routes
    assert any(r.split() == ["PUT", "control", "/api/v1/profiling"] for r in routes), routes
    assert "retention.spans " in pages["/config"].text and f"127.0.0.1:{server.port}" in pages["/config"].text
    for name in ("/version", "/endpoints"):
        assert pages[name].text in pages[""].text
    assert "retention.spans" not in pages[""].text


tap.run(sys.modules[__name__])
