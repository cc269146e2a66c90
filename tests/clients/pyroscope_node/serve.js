// A small service under @pyroscope/nodejs: one span, in which a function that is easy to find burns
// the CPU. The package does not know spans, so the service labels its samples with the span's ids
// itself, as its users do. It prints the ids of the span.
'use strict';
const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-proto');
const { resourceFromAttributes } = require('@opentelemetry/resources');
const { BasicTracerProvider, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-base');
const Pyroscope = require('@pyroscope/nodejs');

const service = 'shop-pyroscope-node';
const server = process.argv[2];

function plantedHotFunction(ms) {
  let n = 0;
  for (const end = Date.now() + ms; Date.now() < end;) {
    for (let i = 0; i < 2000000; i++) n = (n * 31 + i) % 1000003;
  }
  return n;
}

function elsewhere(ms) {
  let n = 0;
  for (const end = Date.now() + ms; Date.now() < end;) {
    for (let i = 0; i < 2000000; i++) n = (n * 17 + i) % 1000003;
  }
  return n;
}

async function main() {
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': service }),
    spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter({ url: server + '/v1/traces' }))],
  });
  Pyroscope.init({
    appName: service, serverAddress: server, tags: { env: 'test' },
    flushIntervalMs: 60000, wall: { collectCpuTime: true },
  });
  Pyroscope.start();
  const root = provider.getTracer('shop').startSpan('GET /checkout');
  const ids = root.spanContext();
  Pyroscope.wrapWithLabels({ span_id: ids.spanId, trace_id: ids.traceId }, () => plantedHotFunction(2000));
  root.end();
  elsewhere(800);
  await provider.shutdown();
  await Pyroscope.stop(); // sends what there is
  console.log(JSON.stringify({ service, trace: ids.traceId, root: ids.spanId }));
}

main().catch((e) => { console.error(e); process.exit(1); });
