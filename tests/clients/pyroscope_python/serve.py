"""A small service under pyroscope-io with its OpenTelemetry span processor: one span, in which a
function that is easy to find burns the CPU. It prints the ids of the span."""
import json
import sys
import time

import pyroscope
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from pyroscope.otel import PyroscopeSpanProcessor

SERVICE = "shop-pyroscope-python"


def planted_hot_function(seconds):
    n, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        for i in range(20000):
            n += i * i
    return n


def elsewhere(seconds):
    n, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        for i in range(20000):
            n += i
    return n


def main():
    server = sys.argv[1]
    pyroscope.configure(application_name=SERVICE, server_address=server, sample_rate=100, tags={"env": "test"})
    provider = TracerProvider(resource=Resource({"service.name": SERVICE}))
    provider.add_span_processor(PyroscopeSpanProcessor())
    provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=server + "/v1/traces")))
    tracer = provider.get_tracer("shop")
    with tracer.start_as_current_span("GET /checkout") as root:
        with tracer.start_as_current_span("totals") as child:
            planted_hot_function(2.5)
    elsewhere(1)
    provider.shutdown()
    pyroscope.shutdown()
    ids = root.get_span_context(), child.get_span_context()
    print(json.dumps({"service": SERVICE, "trace": f"{ids[0].trace_id:032x}", "root": f"{ids[0].span_id:016x}",
                      "child": f"{ids[1].span_id:016x}"}))


main()
