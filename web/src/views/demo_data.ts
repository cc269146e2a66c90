// Demo data for an empty store: half an hour of simulated requests of a small shop, as traces and samples tagged with their spans.
// One in ten orders uses a slow code path to compute the tax, and the version deployed in the last ten minutes spends more time checking rules.

const MS = 1e6;
const REQUESTS = 120;
const LENGTH_MS = 30 * 60e3;
const LATER_MS = 20 * 60e3;
const PERIOD_MS = 10;

type Fields = Readonly<Record<string, unknown>>;

export interface DemoSpan {
  readonly service: string;
  readonly version: string;
  readonly otlp: Fields;
}

export interface DemoStack {
  readonly stack: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly times: readonly string[];
}

export interface DemoData {
  readonly spans: readonly DemoSpan[];
  readonly stacks: readonly DemoStack[];
}

const hex = (n: number, length: number) => n.toString(16).padStart(length, "0");
/** A time in nanoseconds does not fit into a number exactly, therefore the string. */
const nano = (ms: number) => String(BigInt(Math.round(ms * 1e3)) * 1000n);

/** `seed` makes the ids of each load different. */
export function demoData(nowMs: number, seed: number): DemoData {
  const spans: DemoSpan[] = [];
  const stacks: DemoStack[] = [];
  const from = nowMs - LENGTH_MS - 2000;
  for (let i = 0; i < REQUESTS; i++) {
    const start = from + (i * LENGTH_MS) / REQUESTS;
    const isSlow = i % 10 === 7;
    const version = start - from < LATER_MS ? "1.4.1" : "1.4.2";
    const rules = version === "1.4.1" ? 30 : 60;
    const total = 120 + (i % 7) * 6 + rules + (isSlow ? 420 : 0);
    const traceId = hex(seed, 16) + hex(i + 1, 16);
    let n = 0;
    const span = (name: string, service: string, a: number, b: number, parent: string, kind: number, isError = false) => {
      const spanId = hex(seed % 0xffffff, 8) + hex(i * 16 + ++n, 8);
      spans.push({
        service,
        version,
        otlp: { traceId, spanId, ...(parent === "" ? {} : { parentSpanId: parent }), name, kind, startTimeUnixNano: nano(start + a), endTimeUnixNano: nano(start + b), status: isError ? { code: 2 } : {} },
      });
      return spanId;
    };
    const burn = (stack: string, spanId: string, a: number, ms: number) =>
      stacks.push({ stack, traceId, spanId, times: Array.from({ length: Math.round(ms / PERIOD_MS) }, (_, k) => nano(start + a + k * PERIOD_MS)) });
    const root = span("POST /checkout", "demo-gateway", 0, total, "", 2);
    const call = span("POST /orders", "demo-gateway", 4, total - 4, root, 3);
    const order = span("POST /orders", "demo-orders", 8, total - 8, call, 2);
    const check = span("check_price_rules", "demo-orders", 12, 12 + rules, order, 1);
    burn("main;serve;handleOrder;checkPriceRules;regexMatch", check, 12, rules - 10);
    let at = 14 + rules;
    if (isSlow) {
      burn("main;serve;handleOrder;applyLegacyTax;lookupRate", order, at, 400);
      at += 410;
    }
    burn("main;serve;handleOrder;sumItems", order, at, 20);
    burn("main;serve;handleOrder;writeJson", order, at + 20, 10);
    span("pay.charge", "demo-payments", at + 34, total - 12, order, 2, i % 40 === 13);
  }
  return { spans, stacks };
}

const resource = (service: string, version: string) => ({
  attributes: [
    { key: "service.name", value: { stringValue: service } },
    { key: "service.version", value: { stringValue: version } },
  ],
});

export function demoTraces(d: DemoData): Fields {
  const groups = new Map<string, DemoSpan[]>();
  for (const s of d.spans) groups.set(`${s.service} ${s.version}`, [...(groups.get(`${s.service} ${s.version}`) ?? []), s]);
  return {
    resourceSpans: [...groups.values()].flatMap((g) => (g[0] ? [{ resource: resource(g[0].service, g[0].version), scopeSpans: [{ spans: g.map((s) => s.otlp) }] }] : [])),
  };
}

export function demoProfiles(d: DemoData, nowMs: number): Fields {
  const strings = ["", "cpu", "nanoseconds", "shop.c"];
  const names = [...new Set(d.stacks.flatMap((s) => s.stack.split(";")))];
  const kinds = [...new Set(d.stacks.map((s) => s.stack))];
  const type = { typeStrindex: 1, unitStrindex: 2 };
  const samples = d.stacks.map((s, i) => ({ stackIndex: kinds.indexOf(s.stack) + 1, linkIndex: i + 1, values: s.times.map(() => PERIOD_MS * MS), timestampsUnixNano: s.times }));
  return {
    resourceProfiles: [
      {
        resource: resource("demo-orders", "1.4.2"),
        scopeProfiles: [{ profiles: [{ sampleType: type, periodType: type, period: PERIOD_MS * MS, timeUnixNano: nano(nowMs - LENGTH_MS - 2000), durationNano: nano(LENGTH_MS), samples }] }],
      },
    ],
    dictionary: {
      mappingTable: [{}],
      stringTable: [...strings, ...names],
      functionTable: [{}, ...names.map((_, i) => ({ nameStrindex: strings.length + i, filenameStrindex: 3 }))],
      locationTable: [{}, ...names.map((_, i) => ({ lines: [{ functionIndex: i + 1, line: 10 * (i + 1) }] }))],
      stackTable: [{}, ...kinds.map((k) => ({ locationIndices: k.split(";").reverse().map((name) => names.indexOf(name) + 1) }))],
      linkTable: [{}, ...d.stacks.map((s) => ({ traceId: s.traceId, spanId: s.spanId }))],
      attributeTable: [{}],
    },
  };
}

/** `send` posts JSON. This module is loaded on demand and imports nothing of the rest of the page. */
export async function loadDemo(send: (path: string, body: unknown) => Promise<unknown>): Promise<void> {
  const now = Date.now();
  const made = demoData(now, crypto.getRandomValues(new Uint32Array(1))[0] ?? 1);
  await send("/v1/traces", demoTraces(made));
  await send("/v1development/profiles", demoProfiles(made, now));
}
