#!/usr/bin/env python3
"""Jaeger's query API, as its UI, Grafana's Jaeger data source and scripts call it."""
import json
import os
import socket
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from server import Server, make_span, tap  # noqa: E402

SERVER, CLIENT = 2, 3
server = Server().start()
trace, other = os.urandom(16), os.urandom(16)
root = make_span(trace, service="shop", name="GET /cart", kind=SERVER, ms=200, ago_ms=1000,
                 attributes={"http.status_code": 200, "user": "ann"})
call = make_span(trace, root["span_id"], service="shop", name="call stock", kind=CLIENT, ms=100, ago_ms=1050)
stock = make_span(trace, call["span_id"], service="stock", name="GET /item", kind=SERVER, ms=50, ago_ms=1060, error=True)
late = make_span(other, service="shop", name="GET /cart", kind=SERVER, ms=10, ago_ms=100)
server.send([root, call, stock, late])


def get(path, status=200, **params):
    answer = server.get(path + ("?" + urllib.parse.urlencode(params, doseq=True) if params else ""))
    assert answer.status == status, (path, answer.status, answer.text)
    assert answer.headers["content-type"] == "application/json", answer.headers
    body = json.loads(answer.body)
    assert list(body) == ["data", "total", "limit", "offset", "errors"], body
    return body


def ids(body):
    return [t["traceID"] for t in body["data"]]


def test_services_and_operations_are_listed():
    for prefix in ("/api", "/jaeger/api"):
        body = get(prefix + "/services")
        assert body == {"data": ["shop", "stock"], "total": 2, "limit": 0, "offset": 0, "errors": None}, body
        assert get(prefix + "/services/shop/operations")["data"] == ["GET /cart", "call stock"]
        assert get(prefix + "/services/nobody/operations")["data"] == []
        assert get(prefix + "/operations", service="shop")["data"] == [
            {"name": "GET /cart", "spanKind": "server"}, {"name": "call stock", "spanKind": "client"}]
        assert get(prefix + "/operations", service="shop", spanKind="client")["data"] == [
            {"name": "call stock", "spanKind": "client"}]


def test_a_trace_has_spans_processes_tags_and_references():
    body = get("/jaeger/api/traces/" + trace.hex())
    assert body["total"] == 1 and body["errors"] is None and ids(body) == [trace.hex()]
    found = {s["operationName"]: s for s in body["data"][0]["spans"]}
    assert set(found["GET /item"]) == {"traceID", "spanID", "flags", "operationName", "references", "startTime",
                                       "duration", "tags", "logs", "processID", "warnings"}
    assert found["GET /item"]["references"] == [
        {"refType": "CHILD_OF", "traceID": trace.hex(), "spanID": call["span_id"].hex()}]
    assert found["GET /cart"]["startTime"] == root["start"] // 1000 and found["GET /cart"]["duration"] == 200000
    tags = {t["key"]: (t["type"], t["value"]) for t in found["GET /cart"]["tags"]}
    assert tags == {"otel.scope.name": ("string", "flow"), "http.status_code": ("int64", 200),
                    "user": ("string", "ann"), "span.kind": ("string", "server")}, tags
    assert {"key": "error", "type": "bool", "value": True} in found["GET /item"]["tags"]
    process = body["data"][0]["processes"][found["GET /item"]["processID"]]
    assert process == {"serviceName": "stock", "tags": []}, process


def test_searches_find_what_jaeger_finds():
    now = time.time_ns() // 1000
    for params, want in (
            ({"service": "shop"}, [other, trace]),
            ({"service": "shop", "limit": 1}, [other]),
            ({"service": "stock"}, [trace]),
            ({"service": "shop", "operation": "call stock"}, [trace]),
            ({"service": "shop", "minDuration": "150ms"}, [trace]),
            ({"service": "shop", "maxDuration": "50ms"}, [other]),
            ({"service": "shop", "tag": "http.status_code:200"}, [trace]),
            ({"service": "shop", "tags": '{"user":"ann","http.status_code":"200"}'}, [trace]),
            ({"service": "shop", "tag": ["user:ann", "user:bob"]}, []),
            ({"service": "stock", "tag": "error:true"}, [trace]),
            ({"service": "shop", "tag": "error:true"}, []),
            ({"service": "shop", "start": now - 10**9, "end": now}, [other, trace]),
            ({"service": "shop", "start": now - 10**9, "end": now - 5 * 10**8}, []),
            ({"traceID": [trace.hex(), other.hex()]}, [trace, other])):
        for prefix in ("/api", "/jaeger/api"):
            body = get(prefix + "/traces", **params)
            assert ids(body) == [t.hex() for t in want] and body["total"] == len(want), (params, ids(body))


def test_what_is_not_there_or_wrong_is_said_in_the_envelope():
    unknown = "00000000000000000000000000abcdef"
    body = get("/jaeger/api/traces/" + unknown, status=404)
    assert body["data"] is None and body["errors"] == [
        {"code": 404, "msg": "trace not found", "traceID": unknown}], body
    body = get("/api/traces", traceID=[trace.hex(), unknown])
    assert ids(body) == [trace.hex()] and body["errors"][0]["code"] == 404, body["errors"]
    for path, params in (("/api/traces", {}), ("/api/traces", {"service": "a", "tags": "["}), ("/api/operations", {}),
                         ("/api/operations", {"service": "a", "spanKind": "odd"}), ("/api/traces", {"traceID": "zz"}),
                         ("/api/dependencies", {"endTs": "x"}), ("/jaeger/api/traces/zz", {})):
        body = get(path, status=400, **params)
        assert body["errors"][0]["code"] == 400 and body["errors"][0]["msg"], body


def test_dependencies_count_calls_between_services():
    body = get("/api/dependencies", endTs=time.time_ns() // 10**6, lookback=3600000)
    assert body["data"] == [{"parent": "shop", "child": "stock", "callCount": 1}], body
    assert get("/api/dependencies", endTs=1000, lookback=500)["data"] == []


def v3(path, **params):
    return server.json(path + "?" + urllib.parse.urlencode(params))


def test_the_newer_api_answers_in_otlp_json():
    assert v3("/api/v3/services") == {"services": ["shop", "stock"]}
    assert v3("/api/v3/operations", service="stock") == {"operations": [{"name": "GET /item", "spanKind": "server"}]}
    spans = [s for r in v3("/api/v3/traces/" + trace.hex())["result"]["resourceSpans"]
             for ss in r["scopeSpans"] for s in ss["spans"]]
    assert {s["spanId"] for s in spans} == {x["span_id"].hex() for x in (root, call, stock)}
    assert {s["kind"] for s in spans} == {SERVER, CLIENT}
    found = v3("/api/v3/traces", **{"query.serviceName": "shop", "query.durationMin": "150ms",
                                    "query.startTimeMin": "2020-01-01T00:00:00Z",
                                    "query.startTimeMax": "2100-01-01T00:00:00Z"})
    assert len(found["result"]["resourceSpans"]) == 2, found
    assert server.get("/api/v3/traces/00000000000000000000000000abcdef").status == 404


def test_on_jaegers_own_port_a_trace_by_id_is_jaegers():
    assert "batches" in server.json("/api/traces/" + trace.hex())
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", 16686))
        except OSError:
            raise tap.Skip("port 16686 is taken")
    with Server(port=16686) as jaeger:
        jaeger.send([root])
        assert jaeger.json("/api/traces/" + trace.hex())["data"][0]["traceID"] == trace.hex()


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
