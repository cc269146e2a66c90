"""traceql_spans.py - the fixture of tests/support/traceql_fixture.h as OTLP JSON, ten minutes old, and its
golden files."""
import json
import os
import time

T0_S = (int(time.time()) - 600) // 100 * 100
T0 = T0_S * 10**9
MS = 10**6
SERVICES = {"gateway": "prod", "cart": "prod", "db": "prod", "staging": "staging", "worker": None}


def attr(key, value):
    if isinstance(value, bool):
        return {"key": key, "value": {"boolValue": value}}
    if isinstance(value, int):
        return {"key": key, "value": {"intValue": str(value)}}
    if isinstance(value, float):
        return {"key": key, "value": {"doubleValue": value}}
    if isinstance(value, list):
        return {"key": key, "value": {"arrayValue": {"values": [{"stringValue": v} for v in value]}}}
    return {"key": key, "value": {"stringValue": value}}


def span(name_id, parent, place, name, kind, status, start, duration, attrs, message="", **more):
    letter, digit = name_id
    out = {"traceId": {"a": "1", "b": "2", "c": "3"}[letter] * 32, "spanId": f"{letter}00000000000000{digit}",
           "name": name, "kind": kind, "startTimeUnixNano": str(T0 + start * MS),
           "endTimeUnixNano": str(T0 + (start + duration) * MS), "attributes": [attr(*a) for a in attrs.items()],
           "status": {"code": status, "message": message}}
    if parent:
        out["parentSpanId"] = f"{parent[0]}00000000000000{parent[1]}"
    out.update(more)
    return place, out


UNSET, OK, ERROR = 0, 1, 2
INTERNAL, SERVER, CLIENT, CONSUMER = 1, 2, 3, 5
CODE = "http.response.status_code"
SPANS = [
    span("a1", "", "gateway", "GET /cart", SERVER, UNSET, 0, 500,
         {CODE: 500, "http.request.method": "GET", "retry": False, "tags": ["x", "y"]}),
    span("a2", "a1", "gateway", "call cart", CLIENT, ERROR, 10, 480, {CODE: 500, "bytes": 1000}, "upstream 500"),
    span("a3", "a2", "cart", "POST /items", SERVER, ERROR, 20, 450, {CODE: 500, "bytes": 2000, "ratio": 0.5}, "boom",
         events=[{"timeUnixNano": str(T0 + 120 * MS), "name": "exception",
                  "attributes": [attr("exception.type", "IOError"), attr("exception.message", "disk full")]}]),
    span("a4", "a3", "cart", "SELECT items", CLIENT, OK, 30, 100, {"db.system": "postgresql", "bytes": 300}),
    span("a5", "a3", "cart", "SELECT stock", CLIENT, ERROR, 140, 300, {"db.system": "postgresql", "bytes": 700}),
    span("a6", "a5", "db", "query", INTERNAL, UNSET, 150, 280, {"pages": 7}),
    span("b1", "", "staging", "GET /health", SERVER, OK, 1000, 5, {CODE: 200}),
    span("b2", "b1", "staging", "check", INTERNAL, UNSET, 1001, 2, {},
         links=[{"traceId": "1" * 32, "spanId": "a000000000000001", "attributes": [attr("reason", "follow")]}]),
    span("c2", "c1", "worker", "process", CONSUMER, UNSET, 2000, 50, {CODE: "500", "retry": True}),
    span("c3", "c2", "worker", "step", INTERNAL, UNSET, 2010, 10, {"bytes": 5}),
]
NET_HTTP = {"GET /cart", "call cart", "GET /health"}


def body(place, s):
    name = "gateway" if place == "staging" else place
    resource = [attr("service.name", name)]
    if SERVICES[place]:
        resource.append(attr("deployment.environment", SERVICES[place]))
    scope = {"name": "net/http", "version": "1.0"} if s["name"] in NET_HTTP else {"name": "app"}
    return json.dumps({"resourceSpans": [{"resource": {"attributes": resource},
                                          "scopeSpans": [{"scope": scope, "spans": [s]}]}]})


def golden(name):
    """The lines of a golden file: queries and what they give, in pairs."""
    path = os.path.join(os.environ["SOURCE_ROOT"], "tests", "golden", name)
    with open(path, encoding="utf-8") as f:
        lines = [line.rstrip("\n") for line in f if not line.startswith("#")]
    return zip(lines[::2], lines[1::2])


def mistakes():
    """(query, message) of tests/golden/traceql_mistakes.txt, where a query is indented and marked below a line."""
    path = os.path.join(os.environ["SOURCE_ROOT"], "tests", "golden", "traceql_mistakes.txt")
    with open(path, encoding="utf-8") as f:
        for block in f.read().rstrip("\n").split("\n\n"):
            *shown, message = block.split("\n")
            yield "\n".join(line[2:] for line in shown if line.strip(" ^") or "^" not in line), message


def send(server, spans):
    for place, s in spans:
        assert server.post("/v1/traces", body(place, s), "application/json").status == 200
