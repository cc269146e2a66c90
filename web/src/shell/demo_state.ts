// What a running `spanflame demo` says of itself in a setting (demo/README.md), and what of its alerts is about the last
// switch. Nothing in it is trusted: anybody with scope write may have written it.

export const STATE = "spanflame.demo";
export const WISH = "spanflame.demo.wish";
/** A demo says every 5 s that it is there; one query of its story may take half a minute. */
const FRESH_MS = 60e3;

export interface Problem {
  readonly name: string;
  readonly what: string;
  readonly cost: string;
  readonly service: string;
  /** A word that an alert about it has */
  readonly cause: string;
  readonly on: boolean;
}

export interface Demo {
  readonly commit: string;
  /** When its programs began, unix ms */
  readonly startedAt: number;
  readonly doing: string;
  readonly refused: string;
  readonly switched: string;
  readonly worse: boolean;
  readonly switchedAt: number;
  readonly wishAt: number;
  readonly problems: readonly Problem[];
}

export interface Setting {
  readonly name?: string;
  readonly value?: string;
  readonly modifiedAt?: string;
}

export interface FiredAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: string;
  readonly activeAt: string;
}

export interface PastAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly resolvedAt: string | null;
  readonly why: string;
}

export const GOOD_COMMIT = "abc123";
export const BAD_COMMIT = "def456";

const text = (v: unknown): string => (typeof v === "string" ? v : "");
const number = (v: unknown): number => (typeof v === "number" && Number.isFinite(v) ? v : 0);
const fields = (v: unknown): Readonly<Record<string, unknown>> => (typeof v === "object" && v !== null ? (v as Record<string, unknown>) : {});

/** Undefined: no demo runs there. `nowMs` is the server's clock. */
export function demoOf(settings: readonly Setting[] | undefined, nowMs: number): Demo | undefined {
  const found = settings?.find((s) => s.name === STATE);
  if (!found || Math.abs(nowMs - Number(found.modifiedAt ?? "0")) > FRESH_MS) return undefined;
  let told: unknown;
  try {
    told = JSON.parse(found.value ?? "");
  } catch {
    return undefined;
  }
  const of = fields(told);
  const list = of["problems"];
  if (!Array.isArray(list)) return undefined;
  const problems = list.map((p: unknown): Problem => {
    const one = fields(p);
    return { name: text(one["name"]), what: text(one["what"]), cost: text(one["cost"]), service: text(one["service"]), cause: text(one["cause"]), on: one["on"] === true };
  });
  return {
    commit: text(of["commit"]),
    startedAt: number(of["startedAt"]),
    doing: text(of["doing"]),
    refused: text(of["refused"]),
    switched: text(of["switched"]),
    worse: of["worse"] === true,
    switchedAt: number(of["switchedAt"]),
    wishAt: number(of["wishAt"]),
    problems: problems.filter((p) => p.name !== ""),
  };
}

/** The range of an address that names none: the demo's run, unless it is as long as the usual one. */
export function runRange(demo: Demo, url: Readonly<Record<string, string>>, nowMs: number): { from: string; until: string } | undefined {
  const age = nowMs - demo.startedAt;
  if (url["from"] !== undefined || url["until"] !== undefined || age <= 0 || age >= 3600e3) return undefined;
  return { from: String(Math.floor(demo.startedAt)), until: "now" };
}

export interface Wish {
  readonly commit: string;
  readonly off: readonly string[];
}

/** What is so now, as a wish. */
export function wishOf(demo: Demo): Wish {
  return { commit: demo.commit, off: demo.problems.filter((p) => !p.on).map((p) => p.name) };
}

export function toggled(wish: Wish, name: string): Wish {
  return { ...wish, off: wish.off.includes(name) ? wish.off.filter((n) => n !== name) : [...wish.off, name] };
}

/** Of a finding the way to the function is left out: the link leads to all of it. */
export function shortened(sentence: string): string {
  return sentence.replace(/,? in \.\.\. > [^:]*(?=:)/, "");
}

export interface Notice {
  readonly kind: "nothing" | "waiting" | "noticed" | "already" | "still" | "over";
  readonly sentence: string;
  /** Parameters of the view with the evidence */
  readonly page: string;
  /** From the switch to the alert, or to its end */
  readonly seconds: number;
}

const NOTHING: Notice = { kind: "nothing", sentence: "", page: "", seconds: 0 };

/** What Spanflame says of the last switch. A commit is known by the rule that compares commits, a problem by the word that
 * its alerts have; other alerts that begin meanwhile are about something else. */
export function noticeOf(demo: Demo, alerts: readonly FiredAlert[], past: readonly PastAlert[]): Notice {
  if (demo.switchedAt <= 0) return NOTHING;
  const problem = demo.problems.find((p) => p.name === demo.switched);
  const isAbout = (a: { labels: FiredAlert["labels"] }, why: string) =>
    problem ? Object.values(a.labels).some((v) => v.includes(problem.cause)) || why.includes(problem.cause) : a.labels["alertname"] === "deploy";
  const firing = alerts.filter((a) => a.state === "firing").sort((a, b) => Date.parse(b.activeAt) - Date.parse(a.activeAt));
  const about = firing.filter((a) => isAbout(a, a.annotations["why"] ?? ""));
  const since = (at: string) => (Date.parse(at) - demo.switchedAt) / 1e3;
  const given = (kind: Notice["kind"], a: FiredAlert): Notice => ({
    kind,
    sentence: a.annotations["summary"] ?? a.annotations["why"] ?? a.labels["alertname"] ?? "",
    page: a.annotations["page"] ?? "",
    seconds: Math.max(0, since(a.activeAt)),
  });
  if (demo.worse) {
    const fresh = about.find((a) => since(a.activeAt) >= 0);
    if (fresh) return given("noticed", fresh);
    return about[0] ? given("already", about[0]) : { ...NOTHING, kind: "waiting" };
  }
  if (about[0]) return given("still", about[0]);
  const over = past.find((e) => e.resolvedAt !== null && since(e.resolvedAt) >= 0 && isAbout(e, e.why));
  return over?.resolvedAt ? { kind: "over", sentence: over.why, page: "", seconds: since(over.resolvedAt) } : { ...NOTHING, kind: "over", seconds: -1 };
}
