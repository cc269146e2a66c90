// What the articles' Node.js programs leave out: a provider that exports, the work, and what asks for it.
'use strict';
const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks');
const { OTLPTraceExporter } = require('@opentelemetry/exporter-trace-otlp-proto');
const { context, trace } = require('@opentelemetry/api');
const { BasicTracerProvider, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-base');
const { resourceFromAttributes } = require('@opentelemetry/resources');
const fs = require('node:fs');

const provider = new BasicTracerProvider({ resource: resourceFromAttributes({ 'service.name': process.env.OTEL_SERVICE_NAME }),
  spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter())] });
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
trace.setGlobalTracerProvider(provider);

function burn(ms) {
  let n = 0;
  for (const end = Date.now() + ms; Date.now() < end;) {
    for (let i = 0; i < 200000; i++) n = (n * 31 + i) % 1000003;
  }
  return n;
}

function plantedHotFunction(ms) { return burn(ms) + 1; }

const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });

Object.assign(globalThis, {
  doExpensiveCalculation: async () => plantedHotFunction(1500),
  saveProfile: (traceId, profile) => fs.writeFileSync(`${traceId}.cpuprofile`, JSON.stringify(profile)),
  fetchData: async () => { plantedHotFunction(1500); await pause(20); return [1]; },
  transformData: (data) => { burn(700); return data; },
});

module.exports = { provider, pause };
