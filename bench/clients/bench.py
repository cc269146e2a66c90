"""bench.py plain|client: CPU time of one span that is made current and ended, and of a fixed amount of work."""
import os
import sys
import time

from opentelemetry.sdk.trace import TracerProvider

provider = TracerProvider()
if sys.argv[1] == "client":
    import spanflame_profiling
    provider.add_span_processor(spanflame_profiling.SpanTagger())
    spanflame_profiling.start(provider, application_name=os.environ["OTEL_SERVICE_NAME"], server_address=os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"])
tracer = provider.get_tracer("bench")
SPANS = 10000
best = float("inf")
for _ in range(5):
    begin = time.thread_time()
    for _ in range(SPANS):
        with tracer.start_as_current_span("GET /cart"):
            pass
    best = min(best, (time.thread_time() - begin) / SPANS)
begin, n = time.process_time(), 0
for i in range(30_000_000):
    n = n * 31 + i & 0xffff
print(best * 1e9, (time.process_time() - begin) * 1e3)
sys.stdout.flush()
if sys.argv[1] == "client":
    spanflame_profiling.stop()
