// bench.js plain|client: CPU time of one span that is made current and ended, of an await, and of a fixed amount of work.
'use strict';
const { context, trace } = require('@opentelemetry/api');
const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks');
const { BasicTracerProvider } = require('@opentelemetry/sdk-trace-base');

const isClient = process.argv[2] === 'client';
const spanflame = isClient ? require('./spanflame') : undefined;
context.setGlobalContextManager((isClient ? new spanflame.ContextManager() : new AsyncLocalStorageContextManager()).enable());
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: isClient ? [new spanflame.SpanTagger()] : [] }));
if (isClient) spanflame.start({ appName: process.env.OTEL_SERVICE_NAME, serverAddress: process.env.OTEL_EXPORTER_OTLP_ENDPOINT, tags: spanflame.attributes() });
const cpu = () => { const { user, system } = process.cpuUsage(); return (user + system) * 1e3; };

async function main() {
  const tracer = trace.getTracer('bench'), spans = 50000;
  let best = Infinity, bestAwait = Infinity, n = 0;
  for (let round = 0; round < 5; round++) {
    const begin = cpu();
    for (let i = 0; i < spans; i++) tracer.startActiveSpan('GET /cart', (span) => span.end());
    best = Math.min(best, (cpu() - begin) / spans);
    const before = cpu();
    for (let i = 0; i < 200000; i++) await null;
    bestAwait = Math.min(bestAwait, (cpu() - before) / 200000);
  }
  const begin = cpu();
  for (let i = 0; i < 400_000_000; i++) n = (n * 31 + i) & 0xffff;
  console.log(best, (cpu() - begin) / 1e6, bestAwait, n > 1e9 ? n : '');
  await spanflame?.stop();
}
main();
