"""story.py - the one trace that every client here sends, and what must come back of it."""
import base64
import os
import socket
import threading

LINKED_TRACE, LINKED_SPAN = "0102030405060708090a0b0c0d0e0f10", "0102030405060708"

# name: (parent, kind, start ms, end ms, attributes, events, links, status)
SPANS = {
    "GET /checkout": (None, "SPAN_KIND_SERVER", 0, 50,
                      {"http.route": "/checkout", "http.response.status_code": 500, "retried": True, "ratio": 0.25,
                       "tags": ["a", "b"], "lowest": -9007199254740991, "greeting": "grüße 😀"},
                      [], [], {}),
    "charge": ("GET /checkout", "SPAN_KIND_CLIENT", 10, 40, {},
               [("retry", 20, {"attempt": 2}), ("declined", 30, {"reason": "no funds"})],
               [(LINKED_TRACE, LINKED_SPAN, {"why": "same cart"})],
               {"code": "STATUS_CODE_ERROR", "message": "no funds"}),
    "ask the bank": ("charge", "SPAN_KIND_INTERNAL", 12, 28, {}, [], [], {}),
}


def environment(service, endpoint, protocol, compression):
    """What a user sets to point an SDK at a server, and nothing else of theirs."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_") and k.lower() not in ("http_proxy", "https_proxy")}
    env.update({"OTEL_SERVICE_NAME": service, "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
                "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
                "OTEL_EXPORTER_OTLP_INSECURE": "true", "OTEL_EXPORTER_OTLP_TIMEOUT": "10000"})
    if "python" in service:
        env["OTEL_EXPORTER_OTLP_TIMEOUT"] = "10"  # seconds there
    if compression != "none":
        env["OTEL_EXPORTER_OTLP_COMPRESSION"] = compression
    return env


def value(v):
    (kind, inner), = v.items()
    if kind == "intValue":
        return int(inner)
    if kind == "arrayValue":
        return [value(x) for x in inner.get("values", [])]
    assert kind in ("stringValue", "boolValue", "doubleValue"), v
    return inner


def attributes(holder):
    return {a["key"]: value(a["value"]) for a in holder.get("attributes", [])}


def hex_id(text):
    return base64.b64decode(text or "").hex()


def check(trace, sent, service, base_ns):
    """trace: of a v2 answer; sent: what the client printed."""
    found = {}
    for rs in trace.get("resourceSpans", []):
        resource = attributes(rs["resource"])
        assert resource["service.name"] == service, resource
        assert resource["deployment.environment.name"] == "test", resource
        assert "telemetry.sdk.language" in resource, resource
        for ss in rs["scopeSpans"]:
            assert (ss["scope"]["name"], ss["scope"]["version"]) == ("story", "1.2.3"), ss["scope"]
            for s in ss["spans"]:
                assert s["name"] not in found, f"{s['name']} is there twice"
                found[s["name"]] = s
    assert sorted(found) == sorted(SPANS), sorted(found)
    for name, (parent, kind, start, end, attrs, events, links, status) in SPANS.items():
        s = found[name]

        def at(ms):
            return str(base_ns + ms * 1000000)
        assert hex_id(s["traceId"]) == sent["trace"], s
        assert hex_id(s["spanId"]) == sent["spans"][name], s
        assert hex_id(s.get("parentSpanId")) == (sent["spans"][parent] if parent else ""), s
        assert s["kind"] == kind, s
        assert (s["startTimeUnixNano"], s["endTimeUnixNano"]) == (at(start), at(end)), s
        assert attributes(s) == attrs, (attributes(s), attrs)
        assert [(e["name"], e["timeUnixNano"], attributes(e)) for e in s.get("events", [])] == \
            [(n, at(ms), a) for n, ms, a in events], s.get("events")
        assert [(hex_id(x["traceId"]), hex_id(x["spanId"]), attributes(x)) for x in s.get("links", [])] == links, s
        assert s.get("status", {}) == status, s


class Wire:
    """A port that passes bytes on to another and keeps those going there: what did a client send?"""

    def __init__(self, port):
        self.to = port
        self.seen = bytearray()
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.door.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.to))
            for source, sink, keep in ((client, server, True), (server, client, False)):
                threading.Thread(target=self.copy, args=(source, sink, keep), daemon=True).start()

    def copy(self, source, sink, keep):
        try:
            while piece := source.recv(65536):
                if keep:
                    self.seen += piece
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.door.close()
