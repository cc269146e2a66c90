// Puts the ids of every OpenTelemetry span on the samples that Pyroscope's profiler takes in it, and does
// what the server's /api/v1/control says. Copy this file beside your program; it needs @pyroscope/nodejs,
// @opentelemetry/api and @opentelemetry/context-async-hooks.
//
//   context.setGlobalContextManager(new spanflame.ContextManager().enable());
//   new BasicTracerProvider({ spanProcessors: [..., new spanflame.SpanTagger()], ... });
//   spanflame.start({ appName, serverAddress, tags: spanflame.attributes() });
//
// A sample carries span_id and trace_id of the span that is current in its asynchronous call chain, not of
// the one that started last: the labels change when a context becomes current and before each callback.
'use strict';
const { createHook } = require('node:async_hooks');
const crypto = require('node:crypto');
const http = require('node:http');
const https = require('node:https');
const os = require('node:os');
const { ROOT_CONTEXT, context, createContextKey, propagation, trace } = require('@opentelemetry/api');
const { AsyncLocalStorageContextManager } = require('@opentelemetry/context-async-hooks');
const loaded = require('@pyroscope/nodejs');

const Pyroscope = loaded.default ?? loaded;
const NONE = {};
const known = new WeakMap(); // span: {labels, request}
let isRunning = false;

// ---- labels ----

/** The profiler clears the labels with each upload: what it has is asked, not remembered. */
function apply(ctx) {
  if (!isRunning) return;
  const labels = known.get(trace.getSpan(ctx))?.labels ?? NONE;
  if (Pyroscope.getLabels() !== labels) Pyroscope.setLabels(labels);
}

/** The global context manager, or that of a NodeSDK ({ contextManager: ... }). */
class ContextManager extends AsyncLocalStorageContextManager {
  enable() {
    this.hook ??= createHook({ before: () => apply(this.active()) });
    this.hook.enable();
    return super.enable();
  }

  disable() {
    this.hook?.disable();
    return super.disable();
  }

  with(ctx, fn, thisArg, ...args) {
    const outer = this.active();
    const inner = (...given) => {
      apply(ctx);
      return fn.apply(thisArg, given);
    };
    try {
      return super.with(ctx, inner, undefined, ...args);
    } finally {
      apply(outer);
    }
  }
}

// ---- whose samples name their spans ----

const BIG = (1n << 64n) - 1n;
function mix(v) {
  v = ((v ^ (v >> 30n)) * 0xbf58476d1ce4e5b9n) & BIG;
  v = ((v ^ (v >> 27n)) * 0x94d049bb133111ebn) & BIG;
  return v ^ (v >> 31n);
}

/** Whether a trace is in a share (0 to 1) of all: every process and the server choose the same ones. */
function isInShare(traceId, share) {
  if (share >= 1) return true;
  const id = Buffer.from(traceId, 'hex');
  const v = mix(mix((id.readBigUInt64LE(0) + 0x9e3779b97f4a7c15n) & BIG) ^ id.readBigUInt64LE(8));
  return Number((v * 10000n) >> 64n) < share * 10000;
}

/** A span processor: labels each sampled span, and takes the labels of requests back that are not chosen. */
class SpanTagger {
  onStart(span, parentContext) {
    const { spanId, traceId, traceFlags } = span.spanContext();
    if (!(traceFlags & 1)) return;
    const request = known.get(trace.getSpan(parentContext))?.request ?? {
      root: span, labels: [], isDropped: false,
      isKept: isInShare(traceId, control.share()) ||
        propagation.getBaggage(parentContext)?.getEntry('profile')?.value === '1',
    };
    if (request.isDropped) return;
    const labels = { span_id: spanId, trace_id: traceId };
    if (!request.isKept) request.labels.push(labels);
    known.set(span, { labels, request });
    span.setAttribute('pyroscope.profile.id', spanId);
  }

  /** A label object is read when a profile is written: what is deleted until then is in no sample. */
  onEnd(span) {
    const request = known.get(span)?.request;
    if (request?.root !== span || request.isKept) return;
    const tookMs = span.duration[0] * 1e3 + span.duration[1] / 1e6;
    if (tookMs >= control.setting('conditional.slow_request_threshold')) return;
    if (control.setting('conditional.profile_errors') && span.status.code === 2) return;
    request.isDropped = true;
    for (const labels of request.labels) for (const key of Object.keys(labels)) delete labels[key];
  }

  forceFlush() { return Promise.resolve(); }

  shutdown() { return Promise.resolve(); }
}

// ---- which process ----

function fromEnvironment(key) {
  for (const pair of (process.env.OTEL_RESOURCE_ATTRIBUTES ?? '').split(',')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === key) return decodeURIComponent(pair.slice(at + 1).trim());
  }
  return undefined;
}

const instance = fromEnvironment('service.instance.id') || crypto.randomUUID();

/** What spans (in their resource) and profiles (as tags) need to say to be of the same process. */
function attributes() {
  const pod = fromEnvironment('k8s.pod.name');
  return { 'service.instance.id': instance, 'process.pid': String(process.pid), 'host.name': os.hostname(),
    ...(pod ? { 'k8s.pod.name': pod } : {}) };
}

// ---- control ----

const DEFAULTS = { 'cpu.sample_rate': '100', 'conditional.share': '100%', 'conditional.baseline': '1%',
  'conditional.slow_request_threshold': '1s', 'conditional.profile_errors': 'true', 'adaptive.enabled': 'false',
  'adaptive.cpu_threshold': '80%', 'adaptive.memory_threshold': '512MB', 'adaptive.interval': '10s',
  'load_shedding.enabled': 'true', 'load_shedding.cpu_threshold': '90%', 'control.enabled': 'true',
  upload_interval: '10s' };
const UNITS = { '': 1, '%': 0.01, ns: 1e-6, us: 1e-3, ms: 1, s: 1e3, m: 6e4, h: 3.6e6, d: 8.64e7, B: 1, KB: 1e3, MB: 1e6,
  GB: 1e9, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
const SUPPRESSED = ROOT_CONTEXT.setValue(createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING'), true);

/** A number: a share, milliseconds, bytes; undefined when it is none. */
function parsed(text) {
  if (text === 'true' || text === 'false') return text === 'true';
  const [, number, unit] = /^(\d+(?:\.\d+)?)([A-Za-z%]*)$/.exec(text ?? '') ?? [];
  return unit in UNITS ? Number(number) * UNITS[unit] : undefined;
}

function cpuTimes() {
  const all = os.cpus().map((c) => c.times);
  const total = all.reduce((sum, t) => sum + t.user + t.nice + t.sys + t.idle + t.irq, 0);
  const own = process.cpuUsage();
  return { total, idle: all.reduce((sum, t) => sum + t.idle, 0), own: (own.user + own.system) / 1e3, at: Date.now() };
}

class Control {
  doc = {};            // what the server said, line by line
  settings = new Map(); // what follows from it
  own = undefined;     // what the handler was told last
  lowered = 1;         // share of the rate, by load
  isPaused = false;    // the host is overloaded
  over = 0;            // intervals in which it was
  rate = 0;            // in effect
  capture = undefined; // {id, rate} while one is taken
  told = undefined;    // {id, from, until} of a capture that is at the server
  busy = Promise.resolve();

  /** What the server says, else SPANFLAME_PROFILING_*, else the default; each span asks. */
  setting(name) {
    let value = this.settings.get(name);
    if (value === undefined) {
      const key = `SPANFLAME_PROFILING_${name.replaceAll('.', '_').toUpperCase()}`;
      value = parsed(this.doc[name]) ?? parsed(process.env[key]) ?? parsed(DEFAULTS[name]);
      this.settings.set(name, value);
    }
    return value;
  }

  share() { return Math.max(this.setting('conditional.share'), this.setting('conditional.baseline')); }

  isEnabled() { return this.own ?? this.doc.enabled !== 'false'; }

  wanted() {
    if (this.capture) return this.capture.rate;
    if (!this.isEnabled() || this.isPaused) return 0;
    const holds = !this.doc['rate.until'] || Date.now() < Number(this.doc['rate.until']);
    const told = Number(this.doc['rate.cpu'] ?? this.doc['rate.wall']);
    return Math.max(1, Math.floor((holds && told ? told : this.setting('cpu.sample_rate')) * this.lowered));
  }

  begin(hz) {
    this.rate = hz;
    if (!hz) return;
    Pyroscope.init({ ...this.profiler,
      wall: { collectCpuTime: true, ...this.profiler.wall, samplingIntervalMicros: Math.round(1e6 / hz) } });
    context.with(SUPPRESSED, () => Pyroscope.start());
    isRunning = true;
  }

  /** One change after the other; the last window before a change is sent. */
  settle(isCut = false) {
    this.busy = this.busy.then(async () => {
      const hz = this.isStopped ? 0 : this.wanted();
      if (hz === this.rate && !isCut) return;
      if (this.rate) {
        isRunning = false;
        await context.with(SUPPRESSED, () => Pyroscope.stop());
      }
      this.begin(hz);
    }).catch((e) => { this.problem = String(e.message).slice(0, 150); });
    return this.busy;
  }

  /** Halves the rate above the thresholds, and pauses while the host is overloaded. */
  look() {
    const now = cpuTimes(), { before } = this, pauseAt = this.setting('load_shedding.cpu_threshold');
    this.before = now;
    if (!before || now.total <= before.total) return;
    const host = 1 - (now.idle - before.idle) / (now.total - before.total);
    const own = (now.own - before.own) / Math.max(1, now.at - before.at);
    this.over = host >= pauseAt ? this.over + 1 : 0;
    if (!this.setting('load_shedding.enabled') || host < pauseAt - 0.1) this.isPaused = false;
    else if (this.over >= 2) this.isPaused = true;
    const isLoaded = Math.max(host, own) >= this.setting('adaptive.cpu_threshold') ||
      process.memoryUsage.rss() >= (this.setting('adaptive.memory_threshold') || Infinity);
    if (!this.setting('adaptive.enabled')) this.lowered = 1;
    else this.lowered = isLoaded ? Math.max(1 / 8, this.lowered / 2) : Math.min(1, this.lowered + 1 / 4);
    void this.settle();
  }

  later(ms, what) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => context.with(SUPPRESSED, what), ms);
    this.timer.unref();
  }

  take(text) {
    this.own = undefined; // what was stated last holds
    this.settings.clear();
    this.doc = Object.fromEntries(text.split('\n').filter(Boolean).map((line) => line.split(/ (.*)/s)));
    const [id, , rate, seconds] = (this.doc.capture ?? '').split(' ');
    if (this.capture && this.capture.id !== id) void this.endCapture();
    if (id && id !== this.lastCapture) {
      this.lastCapture = id;
      this.capture = { id, rate: Number(rate) };
      void this.settle(true).then(() => {
        this.captureFrom = Date.now();
        setTimeout(() => this.endCapture(), Number(seconds) * 1e3).unref();
      });
    }
    void this.settle();
  }

  async endCapture() {
    const id = this.capture?.id, until = Date.now();
    if (!id) return;
    this.capture = undefined;
    await this.settle(true); // what was sampled is at the server when this is told
    this.told = { id, from: this.captureFrom ?? until, until };
    this.question?.destroy(); // the news at once
  }

  ask() {
    if (this.isStopped) return;
    const server = new URL(this.profiler.serverAddress), told = this.told;
    const query = new URLSearchParams({ format: 'text', service: this.profiler.appName, instance,
      wait: told ? '1s' : '30s', rate: String(this.rate), paused: String(this.rate === 0), pid: String(process.pid),
      host: os.hostname(), agent: 'spanflame-node/1', ...(this.problem ? { problem: this.problem } : {}),
      ...(told ? { capture: told.id, from: `${told.from}000000`, until: `${told.until}000000` } : {}) });
    const headers = { ...this.headers, ...(this.doc.version ? { 'if-none-match': `"${this.doc.version}"` } : {}) };
    let body = '';
    const again = (ms) => this.later(ms / 2 + Math.random() * ms, () => this.ask());
    const failed = () => {
      this.failures = Math.min((this.failures ?? 0) + 1, 4);
      again(this.told && this.told !== told ? 10 : 500 * 2 ** (this.failures - 1));
    };
    this.question = (server.protocol === 'https:' ? https : http).get(
      `${server.origin}${server.pathname.replace(/\/$/, '')}/api/v1/control?${query}`,
      { headers, agent: false, timeout: 45000 }, (answer) => {
        answer.on('data', (part) => { body += part; }).on('error', failed).on('end', () => {
          if (![200, 304].includes(answer.statusCode)) {
            return [401, 403, 404, 405].includes(answer.statusCode) ? again(600000) : failed();
          }
          this.failures = 0;
          if (this.told === told) this.told = undefined;
          if (answer.statusCode === 200) this.take(body);
          return this.busy.then(() => again(100));
        });
      });
    this.question.on('error', failed).on('timeout', () => this.question.destroy());
    this.question.on('socket', (socket) => socket.unref());
  }
}

const control = new Control();

/**
 * Starts Pyroscope's profiler with its own options (appName, serverAddress, tags, ...), and obeys the server. Settings
 * are SPANFLAME_PROFILING_*, named as in Spanflame's docs/configuration.md.
 */
function start(profiler) {
  control.profiler = { flushIntervalMs: control.setting('upload_interval'), ...profiler };
  control.headers = { ...(profiler.authToken ? { authorization: `Bearer ${profiler.authToken}` } : {}),
    ...(profiler.tenantID ? { 'x-scope-orgid': profiler.tenantID } : {}) };
  control.isStopped = false;
  control.look();
  control.begin(control.wanted());
  control.looks = setInterval(() => control.look(), control.setting('adaptive.interval'));
  control.looks.unref();
  if (control.setting('control.enabled')) control.later(0, () => control.ask());
}

/** Sends what there is. */
function stop() {
  clearInterval(control.looks);
  clearTimeout(control.timer);
  control.isStopped = true;
  control.question?.destroy();
  return control.settle();
}

/** For a server of your own: GET says whether profiling is on, POST and DELETE switch it until the next change at the server. */
async function handler(request, response) {
  if (!['GET', 'POST', 'DELETE'].includes(request.method)) {
    response.writeHead(405, { allow: 'GET, POST, DELETE' }).end();
    return;
  }
  if (request.method !== 'GET') control.own = request.method === 'POST';
  await control.settle();
  response.writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ enabled: control.isEnabled(), rate: control.rate }));
}

module.exports = { ContextManager, SpanTagger, attributes, handler, isInShare, start, stop };
