"""Sends five data points and three log records by the OpenTelemetry SDK for Python, and prints what the exporters
answered.

usage: other_signals.py grpc|http/protobuf; the rest comes from the SDK's own OTEL_ variables."""
import json
import logging
import sys

from opentelemetry.sdk._logs import LoggerProvider, LoggingHandler
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader

if sys.argv[1] == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
else:
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

results = {"metrics": [], "logs": []}


def remembers(exporter, signal):
    """The exporter as it is; remembers what it answered, which the SDK would swallow."""
    class Exporter(exporter):
        def export(self, *args, **more):
            result = super().export(*args, **more)
            results[signal].append(result.name)
            return result
    return Exporter()


meters = MeterProvider([PeriodicExportingMetricReader(remembers(OTLPMetricExporter, "metrics"), 3600000)])
counter = meters.get_meter("story").create_counter("orders")
for i in range(5):
    counter.add(1, {"shop": str(i)})
meters.force_flush()
meters.shutdown()
loggers = LoggerProvider()
loggers.add_log_record_processor(SimpleLogRecordProcessor(remembers(OTLPLogExporter, "logs")))
logger = logging.getLogger("story")
logger.addHandler(LoggingHandler(logger_provider=loggers))
for i in range(3):
    logger.warning("order %d", i)
loggers.shutdown()
print(json.dumps(results))
