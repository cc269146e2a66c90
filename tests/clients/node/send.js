// Sends the one trace every client of this folder sends (story.py says what is in it) by the
// OpenTelemetry SDK for Node, and prints the ids it was given.
//
// usage: node send.js grpc|http/protobuf|http/json BASE_NS; the rest comes from the SDK's own OTEL_ variables.
'use strict';
const {context, trace, SpanKind, SpanStatusCode, TraceFlags} = require('@opentelemetry/api');
const {BasicTracerProvider, BatchSpanProcessor} = require('@opentelemetry/sdk-trace-base');
const {defaultResource, detectResources, envDetector} = require('@opentelemetry/resources');

const [protocol, baseNs] = [process.argv[2], BigInt(process.argv[3])];
const packages = {'grpc': 'grpc', 'http/protobuf': 'proto', 'http/json': 'http'};
const {OTLPTraceExporter} = require(`@opentelemetry/exporter-trace-otlp-${packages[protocol]}`);

const exporter = new OTLPTraceExporter();
const results = [];
const exportSpans = exporter.export.bind(exporter); // the processor would swallow what it answers
exporter.export = (spans, done) => exportSpans(spans, (result) => { results.push(result); done(result); });

function at(ms) {
  const ns = baseNs + BigInt(ms) * 1000000n;
  return [Number(ns / 1000000000n), Number(ns % 1000000000n)];
}

async function run() {
  const resource = defaultResource().merge(detectResources({detectors: [envDetector]}));
  const provider = new BasicTracerProvider({resource, spanProcessors: [new BatchSpanProcessor(exporter)]});
  const tracer = provider.getTracer('story', '1.2.3');
  const under = (span) => trace.setSpan(context.active(), span);

  const root = tracer.startSpan('GET /checkout', {
    kind: SpanKind.SERVER, startTime: at(0), attributes: {
      'http.route': '/checkout', 'http.response.status_code': 500, 'retried': true, 'ratio': 0.25,
      'tags': ['a', 'b'], 'lowest': -9007199254740991, 'greeting': 'grüße 😀',
    },
  });
  const linked = {traceId: '0102030405060708090a0b0c0d0e0f10', spanId: '0102030405060708',
    traceFlags: TraceFlags.SAMPLED};
  const charge = tracer.startSpan('charge', {
    kind: SpanKind.CLIENT, startTime: at(10), links: [{context: linked, attributes: {why: 'same cart'}}],
  }, under(root));
  charge.addEvent('retry', {attempt: 2}, at(20));
  charge.addEvent('declined', {reason: 'no funds'}, at(30));
  charge.setStatus({code: SpanStatusCode.ERROR, message: 'no funds'});
  const bank = tracer.startSpan('ask the bank', {startTime: at(12)}, under(charge));
  bank.end(at(28));
  charge.end(at(40));
  root.end(at(50));

  await provider.forceFlush();
  await provider.shutdown();
  if (results.length !== 1 || results[0].code !== 0) {
    throw new Error(JSON.stringify(results.map((r) => [r.code, String(r.error)])));
  }
  const spans = {};
  for (const span of [root, charge, bank]) spans[span.name] = span.spanContext().spanId;
  console.log(JSON.stringify({trace: root.spanContext().traceId, spans}));
}

run().catch((error) => { console.error(error); process.exit(1); });
