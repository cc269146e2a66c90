// First steps in each language: each text can be pasted into a terminal; tests/clients/first_use_clients.py runs those that
// need nothing of the reader's own. `server` is this server's address: it takes OTLP and profiles on all of them.

export interface Recipe {
  readonly name: string;
  readonly text: (server: string) => string;
}

const env = (server: string) => `export OTEL_SERVICE_NAME=my-service
export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
export OTEL_EXPORTER_OTLP_ENDPOINT=${server}`;

export const RECIPES: readonly Recipe[] = [
  {
    name: "C and C++",
    text: (server) => `cat > app.c <<'END'
#include <spanflame.h>

int main(void)
{
    sf_start("my-service");
    sf_span s = sf_span_start("GET /cart");
    for (volatile long i = 0; i < 500000000; i++)
        ;
    sf_span_end(s);
    sf_stop();
}
END
cc -g app.c $(pkg-config --cflags --libs spanflame) -o app
OTEL_EXPORTER_OTLP_ENDPOINT=${server} ./app

# profiles of a program that cannot be rebuilt:
# OTEL_SERVICE_NAME=my-service spanflame record --cpu --wall --server ${server} -- ./my-program`,
  },
  {
    name: "Go",
    text: (server) => `go mod init my-service
cat > main.go <<'END'
package main

import (
	"context"
	"time"

	otelpyroscope "github.com/grafana/otel-profiling-go"
	"github.com/grafana/pyroscope-go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

func main() {
	ctx := context.Background()
	exporter, _ := otlptracehttp.New(ctx) // OTEL_EXPORTER_OTLP_ENDPOINT
	tracerProvider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
	otel.SetTracerProvider(otelpyroscope.NewTracerProvider(tracerProvider))
	profiler, _ := pyroscope.Start(pyroscope.Config{ApplicationName: "my-service", ServerAddress: "${server}"})
	_, span := otel.Tracer("my-service").Start(ctx, "GET /cart")
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end); {
	}
	span.End()
	profiler.Stop()
	tracerProvider.Shutdown(ctx)
}
END
go get github.com/grafana/pyroscope-go github.com/grafana/otel-profiling-go go.opentelemetry.io/otel go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp
${env(server)}
go run main.go`,
  },
  {
    name: "Java",
    text: (server) => `${env(server)}
export OTEL_PYROSCOPE_START_PROFILING=true PYROSCOPE_APPLICATION_NAME=my-service PYROSCOPE_SERVER_ADDRESS=${server}
# opentelemetry-javaagent.jar of OpenTelemetry, pyroscope-otel.jar (io.pyroscope:otel) of Pyroscope
java -javaagent:opentelemetry-javaagent.jar -Dotel.javaagent.extensions=pyroscope-otel.jar -jar my-service.jar
# profiles alone, with io.pyroscope:agent: java -javaagent:pyroscope.jar -jar my-service.jar`,
  },
  {
    name: "Rust",
    text: (server) => `cat > app.rs <<'END'
fn busy() -> u64 {
    (0..500_000_000u64).fold(0, |sum, i| std::hint::black_box(sum ^ i))
}

fn main() {
    println!("{}", busy());
}
END
rustc -O -g app.rs
OTEL_SERVICE_NAME=my-service spanflame record --cpu --server ${server} -- ./app

# profiles from inside, by the crate pyroscope, that name a span:
# let agent = PyroscopeAgentBuilder::new("${server}", "my-service", 100, "pyroscope-rs", "2.1.5",
#     pprof_backend(PprofConfig { sample_rate: 100 }, BackendConfig::default())).build()?.start()?;
# let (add_tag, remove_tag) = agent.tag_wrapper();
# add_tag("span_id".into(), span.span_context().span_id().to_string())?;
# spans: the crate opentelemetry-otlp takes these variables
${env(server)}`,
  },
  {
    name: "Python",
    text: (server) => `pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http pyroscope-io pyroscope-otel
cat > app.py <<'END'
import time

import pyroscope
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from pyroscope.otel import PyroscopeSpanProcessor

pyroscope.configure(application_name="my-service", server_address="${server}")
tracer_provider = TracerProvider()
tracer_provider.add_span_processor(PyroscopeSpanProcessor())
tracer_provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))

with tracer_provider.get_tracer("my-service").start_as_current_span("GET /cart"):
    end = time.monotonic() + 2
    while time.monotonic() < end:
        sum(range(1000))
tracer_provider.shutdown()
pyroscope.shutdown()
END
${env(server)}
python3 app.py`,
  },
  {
    name: "Node.js",
    text: (server) => `npm install @opentelemetry/api @opentelemetry/context-async-hooks @opentelemetry/sdk-trace-base @opentelemetry/resources @opentelemetry/exporter-trace-otlp-proto @pyroscope/nodejs
cat > app.js <<'END'
const { context, trace } = require('@opentelemetry/api');
const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks');
const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-proto');
const { resourceFromAttributes } = require('@opentelemetry/resources');
const { BasicTracerProvider, BatchSpanProcessor } = require('@opentelemetry/sdk-trace-base');
const Pyroscope = require('@pyroscope/nodejs');

Pyroscope.init({ serverAddress: '${server}', appName: 'my-service' }); Pyroscope.start();
const provider = new BasicTracerProvider({
  resource: resourceFromAttributes({ 'service.name': 'my-service' }),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
trace.setGlobalTracerProvider(provider);
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
function handle(request) {
  for (const end = Date.now() + 2000; Date.now() < end;);
}
const request = 'GET /cart';
trace.getTracer('my-service').startActiveSpan(request, (span) => {
  const { spanId, traceId } = trace.getActiveSpan().spanContext();
  Pyroscope.wrapWithLabels({ span_id: spanId, trace_id: traceId }, () => handle(request));
  span.end();
});
provider.shutdown().then(() => Pyroscope.stop());
END
${env(server)}
node app.js`,
  },
  {
    name: ".NET",
    text: (server) => `dotnet add package OpenTelemetry.Exporter.OpenTelemetryProtocol
dotnet add package Pyroscope.OpenTelemetry
# in the program: Sdk.CreateTracerProviderBuilder().AddProcessor(new PyroscopeSpanProcessor()).AddOtlpExporter().Build()
# CORECLR_PROFILER_PATH and Pyroscope.Profiler.Native.so: see Pyroscope's .NET page
${env(server)}
export PYROSCOPE_APPLICATION_NAME=my-service
export PYROSCOPE_SERVER_ADDRESS=${server}
export PYROSCOPE_PROFILING_ENABLED=1
dotnet run`,
  },
  {
    name: "Ruby",
    text: (server) => `gem install opentelemetry-sdk opentelemetry-exporter-otlp pyroscope pyroscope-otel
cat > app.rb <<'END'
require 'opentelemetry/sdk'
require 'opentelemetry/exporter/otlp'
require 'pyroscope'
require 'pyroscope/otel'

Pyroscope.configure { |c| c.application_name = 'my-service'; c.server_address = '${server}' }
OpenTelemetry::SDK.configure { |c| c.add_span_processor(Pyroscope::Otel::SpanProcessor.new('my-service.cpu', '${server}')) }
OpenTelemetry.tracer_provider.tracer('my-service').in_span('GET /cart') { 10_000_000.times { |i| i * i } }
OpenTelemetry.tracer_provider.shutdown
END
${env(server)}
ruby app.rb`,
  },
  {
    name: "Collector",
    text: (server) => `exporters:
  otlphttp/spanflame:
    endpoint: ${server}
service:
  pipelines:
    traces:   {receivers: [otlp], exporters: [otlphttp/spanflame]}
    profiles: {receivers: [otlp], exporters: [otlphttp/spanflame]}`,
  },
  {
    name: "A file",
    text: (server) => `# pprof, JFR, V8, folded text, OTLP: told by its content
curl -fS --data-binary @profile.pb.gz '${server}/api/v1/profile?service=my-service'`,
  },
];
