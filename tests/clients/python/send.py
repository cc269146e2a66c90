"""Sends the one trace every client of this folder sends (story.py says what is in it) by the
OpenTelemetry SDK for Python, and prints the ids it was given.

usage: send.py grpc|http/protobuf BASE_NS; the rest comes from the SDK's own OTEL_ variables."""
import json
import sys

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

protocol, base_ns = sys.argv[1], int(sys.argv[2])
if protocol == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
else:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

results = []


class Exporter(OTLPSpanExporter):
    """The exporter as it is; remembers what it answered, which the processor would swallow."""

    def export(self, *args, **more):
        results.append(super().export(*args, **more))
        return results[-1]


def at(ms):
    return base_ns + ms * 1000000


provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(Exporter()))
tracer = provider.get_tracer("story", "1.2.3")

root = tracer.start_span("GET /checkout", kind=SpanKind.SERVER, start_time=at(0), attributes={
    "http.route": "/checkout", "http.response.status_code": 500, "retried": True, "ratio": 0.25, "tags": ["a", "b"],
    "lowest": -9007199254740991, "greeting": "grüße 😀"})
linked = SpanContext(0x0102030405060708090a0b0c0d0e0f10, 0x0102030405060708, False, TraceFlags(1))
charge = tracer.start_span("charge", trace.set_span_in_context(root), SpanKind.CLIENT, start_time=at(10),
                           links=[Link(linked, {"why": "same cart"})])
charge.add_event("retry", {"attempt": 2}, at(20))
charge.add_event("declined", {"reason": "no funds"}, at(30))
charge.set_status(Status(StatusCode.ERROR, "no funds"))
bank = tracer.start_span("ask the bank", trace.set_span_in_context(charge), start_time=at(12))
bank.end(at(28))
charge.end(at(40))
root.end(at(50))

assert provider.force_flush()
provider.shutdown()
assert results == [SpanExportResult.SUCCESS], results
print(json.dumps({"trace": format(root.get_span_context().trace_id, "032x"),
                  "spans": {s.name: format(s.get_span_context().span_id, "016x") for s in (root, charge, bank)}}))
