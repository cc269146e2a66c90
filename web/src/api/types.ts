// The shapes of docs/api.md that the page reads.

export interface SpanFigures {
  errors: number;
  ratePerSecond: number;
  errorShare: number;
  meanNs: number;
  p50Ns: number;
  p95Ns: number;
  p99Ns: number;
}
/** Figures of all spans, and of those by which requests enter the service. */
export interface Red extends SpanFigures {
  spans: number;
  requests: SpanFigures & { count: number };
}
export interface Operation extends Red {
  operation: string;
}
export interface Service extends Red {
  service: string;
  operations: Operation[];
}
export interface Services {
  services: Service[];
  isExact: boolean;
}

export interface Deploys {
  deploys: { id?: string; service: string; version: string; against: string; attribute: string; timeUnixNano: string; posted: boolean; seen: boolean; commit: string; environment: string; comment: string; url: string }[];
  /** Not all spans could be counted: why; else "" */
  note: string;
}

export interface OtlpValue {
  stringValue?: string;
  intValue?: string | number;
  doubleValue?: number | string;
  boolValue?: boolean;
  bytesValue?: string;
  arrayValue?: { values?: OtlpValue[] };
  kvlistValue?: { values?: Attribute[] };
}
export interface Attribute {
  key: string;
  value: OtlpValue;
}
export interface SpanEvent {
  timeUnixNano: string;
  name: string;
  attributes: Attribute[];
}
export interface SpanLink {
  traceId: string;
  spanId: string;
  attributes: Attribute[];
}
export interface Stretch {
  startOffsetNs: number;
  durationNs: number;
}
export interface Hot {
  function: string;
  /** Of the line that cost most, where it is known */
  file?: string;
  line?: number;
  value: number;
  share: number;
  samples: number;
  /** Of the samples of all spans below it too */
  isWithChildren?: boolean;
}
export interface Span {
  spanId: string;
  parentSpanId: string;
  depth: number;
  service: string;
  name: string;
  kind: string;
  status: string;
  statusMessage: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  startOffsetNs: number;
  durationNs: number;
  clockShiftNs?: number;
  isCritical: boolean;
  criticalNs: number;
  critical: Stretch[];
  resource: number;
  scope: number;
  attributes: Attribute[];
  events: SpanEvent[];
  links: SpanLink[];
  hot?: Hot;
  /** Samples of its own, too few to say where its time went */
  fewSamples?: number;
  /** Records of samples that may be its own, since others share them, and the samples behind them */
  estimatedSamples?: number;
  estimatedLooks?: number;
  /** The span that is known to have all of those, with its children; empty: none */
  knownSpanId?: string;
}
/** A service whose clock contradicted its caller's, and was corrected. */
export interface Clock {
  service: string;
  caller: string;
  calls: number;
  offsetNs: number;
  slackNs: number | null;
  isContradictory: boolean;
}
export interface Trace {
  traceId: string;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  durationNs: number;
  criticalNs: number;
  isPartial: boolean;
  isExact: boolean;
  clocks?: Clock[];
  moreClocks?: number;
  hotType?: string;
  hotUnit?: string;
  /** What `hot` was not made from */
  note?: string;
  resources: { service: string; attributes: Attribute[] }[];
  scopes: { name: string; version: string }[];
  spans: Span[];
}

export interface Frame {
  function: string;
  file?: string;
  line?: number;
  module?: string;
  buildId?: string;
  /** Of a library without names: what Debian likely calls the package with its debug file */
  debugPackage?: string;
  address?: number;
  kind?: string;
}
export interface Profile {
  service: string;
  type: string;
  unit: string;
  labels: Record<string, string>;
  timeUnixNano: string;
  durationNs: number;
  period: number;
  total: number;
  samples: number;
  isCut: boolean;
  /** Some of it may belong to other spans */
  isEstimate?: boolean;
  /** Too few samples for times; `looks` says how many */
  isFew?: boolean;
  looks?: number;
  frames: Frame[];
  /** [parent, frame, self]; parents come first, the root has frame -1 */
  nodes: [number, number, number][];
}

/** What of an answer is known, and the smallest thing that is known to have the rest. */
export interface Known {
  samples: number;
  estimatedSamples: number;
  value: number;
  of?: { service: string; spanId?: string; name?: string; fromUnixNano?: string; untilUnixNano?: string; command: string };
}

/** What became of the samples of a trace when its hour was judged */
export interface Keep {
  state: "whole" | "kept" | "thinned";
  rules: string[];
  probability: number;
  hourUnixNano?: string;
  ruleSet?: number;
}
export interface Pin {
  traceId: string;
  untilUnixNano: string;
  createdUnixNano: string;
  startUnixNano: string;
  note: string;
}
export interface KeptTrace {
  traceId: string;
  keep: Keep;
  pin?: Pin;
}
export type GradeName = "exact" | "subtree" | "inherited" | "shared" | "window";
export interface SpanProfile {
  traceId: string;
  spanId: string;
  service: string;
  name: string;
  durationNs: number;
  isSelf: boolean;
  isPartial: boolean;
  samples: number;
  looks?: number;
  threads?: number;
  areThreadsNamed?: boolean;
  mostSamples: number;
  trust: string;
  grades: Record<GradeName, { samples: number; value: number }>;
  /** Some of its samples may belong to other spans */
  isEstimate?: boolean;
  known?: Known;
  top?: { function: string; shareLow: number; shareHigh: number };
  keep?: Keep;
  reason: string;
  types: string[];
  profile: Profile;
  /** The part of the ledger it is of */
  part?: string;
  /** Samples that have times: start, length, value, node, thread */
  timeline?: [number, number, number, number, number][];
}
export interface LedgerPart {
  part: string;
  words: string;
  ns: number;
  share: number;
  source: string;
  /** Samples it comes from, too few for times */
  fewSamples?: number;
  cutNs: number;
  apartNs: number;
  profile: string | null;
}
export interface Ledger {
  durationNs: number;
  parts: LedgerPart[];
  otherCpuNs: number;
  apartSamples: number;
  samples: number;
  reason: string;
  isPartial: boolean;
}
export interface TraceFlame {
  traceId: string;
  by: string;
  spans: number;
  sampledSpans: number;
  samples: number;
  looks?: number;
  isEstimate?: boolean;
  known?: Known;
  isPartial: boolean;
  keep?: Keep;
  reason: string;
  clocks?: Clock[];
  moreClocks?: number;
  types: string[];
  profile: Profile;
}

export interface CompareSide {
  words: string;
  found: number;
  isFoundEstimate: boolean;
  spans: number;
  sampledSpans: number;
  meanDurationNs: number;
  meanValue: number;
  /** The shortest, the 1/32 quantile, … the longest; of servers before it: not there */
  durationsNs?: number[];
}
export interface ComparedFigure {
  left: number;
  right: number;
  delta: number;
  low?: number;
  high?: number;
  leftSpans: number;
  rightSpans: number;
  isSignificant: boolean;
}
export interface ComparedFunction extends ComparedFigure {
  function: string;
  file?: string;
  line?: number;
}
export interface ComparedPart extends ComparedFigure {
  part: string;
  words: string;
  share: number;
  isEstimate: boolean;
  functions: ComparedFunction[];
  moreFunctions: number;
}
export interface ComparedTime {
  summary: string;
  duration: ComparedFigure;
  parts: ComparedPart[];
  reason: string;
}
export interface Comparison {
  type: string;
  unit: string;
  left: CompareSide;
  right: CompareSide;
  significant: number;
  note: string;
  reason: string;
  functions: ComparedFunction[];
  time: ComparedTime;
}

export interface Finding {
  kind: string;
  sentence: string;
  subject: string;
  path: string;
  action: string;
  share: number;
  value: number;
  unit: string;
  /** Mean over all requests; null: not known */
  perRequestNs?: number | null;
  /** What the order goes by: a cost that few requests bear weighs more */
  rankNs?: number | null;
  /** Of the requests bear it; null: not known */
  requestShare?: number | null;
  file?: string;
  line?: number;
  /** Of the spans that most of it is in; empty: not known */
  spanName?: string;
  count: number;
  traceId: string;
  spanId: string;
}
export interface Findings {
  of: string;
  samples: number;
  reason: string;
  note?: string;
  /** Smaller ones that are left out */
  more?: number;
  findings: Finding[];
}

export interface Coverage {
  service: string;
  language: string;
  spans: number;
  types: { type: string; profiles: number; samples: number; rateHz: number; spacingNs: number; gapNs: number; gaps: unknown[] }[];
  link?: {
    type: string;
    spans: number;
    sampledSpans: number;
    thinnedSpans?: number;
    thinned?: string;
    note?: string;
    expectedSamples: number;
    receivedSamples: number;
    knownSamples?: number;
    estimatedSamples?: number;
    grades: Record<GradeName, { samples: number; value: number }>;
    taggedShare?: number;
    symbolisedShare?: number;
  };
  calls: number;
  skew: { caller: string; calls: number; offsetNs: number }[];
  missing: { kind: string; sentence: string; lines: string[] }[];
  /** What its profiler reports otherwise than the type says */
  notes?: { kind: string; sentence: string }[];
}

export interface FrameSpans {
  function: string;
  type: string;
  unit: string;
  found: number;
  value: number;
  fewSamples?: number;
  note: string;
  reason: string;
  spans: { traceId: string; spanId: string; service: string; name: string; startTimeUnixNano: string; durationNs: number; value: number; share: number; samples: number; isCut?: boolean; fewSamples?: number }[];
}

export interface FoundSpan {
  spanID: string;
  name?: string;
  startTimeUnixNano: string;
  durationNanos: string;
  attributes?: Attribute[];
}
export interface FoundTrace {
  traceID: string;
  rootServiceName?: string;
  rootTraceName?: string;
  startTimeUnixNano: string;
  durationMs?: number;
  spanSet?: { spans: FoundSpan[]; matched: number };
  spanSets?: { spans: FoundSpan[]; matched: number }[];
}
export interface Found {
  traces?: FoundTrace[];
  metrics?: Record<string, unknown>;
}

export interface MetricSeries {
  labels: Attribute[];
  samples?: { timestampMs: string; value?: number }[];
  exemplars?: { labels: Attribute[]; value?: number; timestampMs: string }[];
  value?: number;
}
export interface MetricAnswer {
  series?: MetricSeries[];
  status?: string;
  message?: string;
}

export interface ExplainFunction {
  function: string;
  caller: string;
  library: string;
  path: string;
  file: string;
  line: number;
  ns: number;
  low_ns: number | null;
  high_ns: number | null;
}
export interface ExplainChild {
  trace: string;
  span: string;
  service: string;
  name: string;
  count: number;
  ns: number;
  duration_ns: number;
  parts?: ExplainPart[];
}
export interface ExplainPart {
  part: string;
  words: string;
  ns: number;
  low_ns: number | null;
  high_ns: number | null;
  source?: string;
  estimate?: boolean;
  few_samples?: number;
  reason?: string;
  profile?: string | null;
  functions?: ExplainFunction[];
  children?: ExplainChild[];
  more_children?: number;
}
/** Why it took so long: one sentence, and parts that add up to the duration. */
export interface Explain {
  of: string;
  /** Of a difference */
  before_ns?: number;
  sentence: string;
  service?: string;
  name?: string;
  duration_ns: number;
  low_ns: number | null;
  high_ns: number | null;
  spans: number;
  parts: ExplainPart[];
  evidence: { spans: unknown[]; query: string; samples: number; flame: string; command: string; page: string };
  note: string;
  reason: string;
  partial: boolean;
}
