// What one set of spans does more of than another: in words, as a table with intervals, as one flame graph.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { call, get } from "../api/client";
import type { CompareSide, ComparedFunction, Comparison, Profile, Services } from "../api/types";
import { useAsk } from "../api/use_ask";
import { Distribution, type Spread } from "../charts/distribution";
import { FlameGraph } from "../flame/flame_graph";
import { diffOf } from "../flame/tree";
import { said, visible } from "../format/safe_text";
import { count, countOf, duration, ESTIMATE, moment, signed, value } from "../format/units";
import { DEPLOY_ENTRY, deployLink, hasSides, KEYS, sidesOf, useDeploys } from "../overview/use_deploys";
import { Icon } from "../parts/icon";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame } from "../parts/states";
import { TypeChoice } from "../parts/type_choice";
import { withCondition } from "../search/queries";
import { useHead } from "../state/head";
import { asked, askedSeconds, readMoment, type Range } from "../state/range";
import { change, goTo, params, within, type Params } from "../state/url";
import { useUrl } from "../state/use_url";
import { inOrder as typesInOrder } from "../trace/span_profile";
import { inOrder, partClass, PartLegend } from "../why/parts";
import { Sentence } from "../why/sentence";
import { SetAll } from "../why/set_all";
import { SetWhy } from "../why/set_why";
import { useExplain } from "../why/use_explain";
import { deltaClass, TimeParts } from "./compare_time";

interface Cohort {
  spans: number;
  sampledSpans: number;
  reason: string;
  profile: Profile;
}

/** Where the server split a query's spans by duration: "p95 (210 ms)" in its words is not enough, so it is requested. */
const SPLITS = ["all", "p50", "p75", "p90", "p95", "p99", "errors"] as const;

/** What the two sides are called, everywhere in the view. */
export function sideNames(url: Params): readonly [string, string] {
  if (url["version"] !== undefined) return ["Before", "After"];
  if (url["form"] === "box") return ["Other", "Chosen"]; // in a heatmap
  if (url["q"] === undefined || url["by"] !== undefined) return ["Left", "Right"];
  return url["split"] === "errors" ? ["Successful", "Failed"] : ["Fast", "Slow"];
}

/** `of`: what it is called, where that is shorter than its query. */
function Side(props: { title: string; side: CompareSide; unit: string; color: string; of?: string | undefined }) {
  const { side } = props;
  return (
    <div class="side-card">
      <i class="sq" style={{ background: props.color }} aria-hidden="true" />
      <span class="l">{props.title}</span>
      <bdi class="mono name" title={visible(side.words)}>
        {visible(props.of ?? side.words)}
      </bdi>
      <span class="spring" />
      <span class="f3 sm nw">
        {count(side.spans)} of {side.isFoundEstimate ? ESTIMATE : ""}
        {countOf(side.found, "span")}, {count(side.sampledSpans)} with samples, {duration(side.meanDurationNs)} on average
      </span>
    </div>
  );
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

function columns(unit: string, names: readonly [string, string]): Column<ComparedFunction>[] {
  return [
    { key: "function", title: "Function", by: (f) => f.function, cell: (f) => <Name text={f.function} class="mono" /> },
    { key: "left", title: names[0], isNumber: true, by: (f) => f.left, cell: (f) => value(f.left, unit), hint: "per span" },
    { key: "right", title: names[1], isNumber: true, by: (f) => f.right, cell: (f) => value(f.right, unit), hint: "per span" },
    { key: "delta", title: "Difference", isNumber: true, by: (f) => Math.abs(f.delta), cell: (f) => <b class={deltaClass(f)}>{signed(value(f.delta, unit), f.delta)}</b> },
    {
      key: "interval",
      title: "95 % interval",
      isNumber: true,
      cell: (f) => (f.low === undefined || f.high === undefined ? <span class="faint">too few spans</span> : `${signed(value(f.low, unit), f.low)} to ${signed(value(f.high, unit), f.high)}`),
    },
    { key: "sure", title: "", cell: (f) => (f.isSignificant ? <span class="chip acc">significant</span> : <span class="faint">may be chance</span>) },
  ];
}

/** Two span sets over one another: all their time, waits included, or one type of profile. */
function DiffGraph(props: { left: string; right: string; range: Range; type: string | undefined }) {
  const times = asked(props.range);
  const key = JSON.stringify([props.left, props.right, times, props.type]);
  const both = useAsk<{ left: Cohort; right: Cohort }>(key, async (s) => {
    const one = (q: string) => get<Cohort>("/api/v1/cohort", { q, ...times, ...(props.type === undefined ? { time: "all" } : { type: props.type }), per: "all" }, s);
    const [left, right] = await Promise.all([one(props.left), one(props.right)]);
    return { data: { left: left.data, right: right.data }, partial: left.partial || right.partial };
  });
  const tree = useMemo(() => (both.data ? diffOf(both.data.left.profile, both.data.right.profile) : undefined), [both.data]);
  const requests = useMemo(() => (both.data && both.data.left.spans > 0 && both.data.right.spans > 0 ? { left: both.data.left.spans, right: both.data.right.spans } : undefined), [both.data]);
  return (
    <AskedFrame what="the comparison" asked={both} empty={(d) => (d.left.profile.total + d.right.profile.total === 0 ? <p>{said(d.right.reason || d.left.reason) || "Neither side has samples."}</p> : undefined)}>
      {() => tree && <FlameGraph tree={tree} label="Difference per span" diffBy={requests ? "request" : "absolute"} requests={requests} icicle={props.type === undefined} mayHideStart={true} />}
    </AskedFrame>
  );
}

/** A duration in the words of the comparison: "below p95 (210 ms) of …". */
function splitAt(words: string): string {
  const m = /\((\d+(?:\.\d+)?) ?(ns|µs|us|ms|s)\)/.exec(words);
  return m ? `${m[1] ?? ""}${(m[2] ?? "").replace("µs", "us")}` : "";
}

function sidesFrom(url: Readonly<Record<string, string>>, c: Comparison): { left: string; right: string } | undefined {
  const { left, right, q } = url;
  // Of an attribute the address has two values; the server answers with the queries it made of them.
  if (url["by"] !== undefined) return { left: c.left.words, right: c.right.words };
  if (left !== undefined && right !== undefined) return { left, right };
  if (q === undefined) return undefined;
  const inner = /^\s*\{(.*)\}\s*$/s.exec(q)?.[1]?.trim();
  if (inner === undefined) return undefined;
  const with_ = (more: string) => (inner === "" ? `{ ${more} }` : `{ (${inner}) && ${more} }`);
  if (url["split"] === "errors") return { left: with_("status != error"), right: with_("status = error") };
  const at = splitAt(c.left.words) || splitAt(c.right.words);
  return at === "" ? undefined : { left: with_(`duration < ${at}`), right: with_(`duration >= ${at}`) };
}

/** Where the difference comes from, as steps from one duration to the other. */
function Bridge(props: { c: Comparison; names: readonly [string, string] }) {
  const { time } = props.c;
  const d = time.duration;
  const parts = [...time.parts].sort((a, b) => Math.abs(b.delta) - Math.abs(a.delta));
  const steps = parts.slice(0, 5).filter((p) => Math.abs(p.delta) > 0);
  const rest = parts.slice(5).reduce((n, p) => n + p.delta, 0);
  const most = Math.max(d.left, d.right, ...steps.map((_, i) => d.left + steps.slice(0, i + 1).reduce((n, p) => n + p.delta, 0)), 1);
  const high = (ns: number) => `${String(Math.max(0, (ns / most) * 100))}%`;
  let at = d.left;
  const side = (key: "left" | "right") => (
    <div class="bx" style={{ height: high(d[key]), bottom: "0" }}>
      {inOrder(time.parts.map((p) => ({ part: p.part, ns: p[key] })))
        .reverse()
        .map((p) => (
          <i key={p.part} class={partClass(p.part)} style={{ flexGrow: String(p.ns), flexBasis: "0" }} />
        ))}
    </div>
  );
  return (
    <div class="card">
      <header>
        <h2>
          From {duration(d.left)} to {duration(d.right)}
        </h2>
        <span class="f3 sm">mean per span</span>
      </header>
      <div class="bridge" role="img" aria-label={`From ${duration(d.left)} to ${duration(d.right)}: ${steps.map((p) => `${p.words} ${signed(duration(p.delta), p.delta)}`).join(", ")}`}>
        <div class="col">
          <span class="v" style={{ bottom: high(d.left) }}>{duration(d.left)}</span>
          {side("left")}
        </div>
        {steps.map((p) => {
          const low = Math.min(at, at + p.delta);
          at += p.delta;
          return (
            <div class="col" key={p.part}>
              <span class="v" style={{ bottom: high(low + Math.abs(p.delta)) }}>{signed(duration(p.delta), p.delta)}</span>
              <div class={`bx step ${p.isSignificant ? (p.delta > 0 ? "more-bar" : "less-bar") : "same-bar"}`} style={{ height: high(Math.abs(p.delta)), bottom: high(low) }} />
            </div>
          );
        })}
        <div class="col">
          <span class="v" style={{ bottom: high(d.right) }}>{duration(d.right)}</span>
          {side("right")}
        </div>
      </div>
      <div class="bl" aria-hidden="true">
        <span>{props.names[0]}</span>
        {steps.map((p) => (
          <span key={p.part} class={p.isSignificant ? "b" : "f3"}>{p.words}</span>
        ))}
        <span>{props.names[1]}</span>
      </div>
      {Math.abs(rest) > 0 && <p class="note pad-x">Smaller parts together: {signed(duration(rest), rest)}.</p>}
    </div>
  );
}

function spreadOf(words: string, color: string, s: CompareSide): Spread {
  return { words, color, spans: s.spans, meanNs: s.meanDurationNs, durationsNs: s.durationsNs ?? [] };
}

/** Which profile the difference graph is of. */
function DiffTypes(props: { type: string; range: Range }) {
  const q = { start: String(Math.floor(props.range.fromMs)), end: String(Math.ceil(props.range.untilMs)) };
  const types = useAsk<{ profileTypes?: { ID: string }[] }>(`types ${JSON.stringify(q)}`, (s) => call("ProfileTypes", q, s));
  const all = typesInOrder((types.data?.profileTypes ?? []).map((t) => t.ID));
  return (
    <TypeChoice
      types={all}
      type={props.type}
      first={{ words: "All time", title: "Running code, and waits as hatched frames: the parts add up to the difference" }}
      onType={(t) => change({ type: t, fz: "" })}
    />
  );
}

interface Attribute {
  readonly key: string;
  readonly values: readonly string[];
}

const ATTRIBUTES = ["resource.host.name", "resource.service.instance.id", "resource.deployment.environment", "span.http.route", "span.http.request.method", "resource.service.version", "resource.commit"];

/** The first of some attributes that has two values: an example that has an answer. */
async function attributeOf(range: Range, signal: AbortSignal): Promise<Attribute> {
  for (const key of ATTRIBUTES) {
    const answer = await get<{ tagValues?: { value: string }[] }>(`/api/v2/search/tag/${key}/values`, askedSeconds(range), signal);
    const values = (answer.data.tagValues ?? []).map((v) => v.value);
    if (values.length >= 2) return { key, values };
  }
  return { key: ATTRIBUTES[0] ?? "", values: [] };
}

/** Forms, when nothing was asked yet: each with what is there. */
function Start(props: { range: Range }) {
  const q = asked(props.range);
  const services = useAsk<Services>(`services ${JSON.stringify(q)}`, (s) => get("/api/v1/services", q, s));
  const { deploys } = useDeploys(props.range);
  const attribute = useAsk<Attribute>(`attribute ${JSON.stringify(q)}`, async (s) => ({ data: await attributeOf(props.range, s), partial: "" }));
  const busiest = [...(services.data?.services ?? [])].sort((a, b) => b.requests.ratePerSecond * b.requests.meanNs - a.requests.ratePerSecond * a.requests.meanNs)[0];
  const op = busiest?.operations.find((o) => o.requests.count > 0)?.operation;
  const example = busiest ? `{ resource.service.name = ${JSON.stringify(busiest.service)}${op === undefined ? "" : ` && name = ${JSON.stringify(op)}`} }` : "{ }";
  const go = (f: HTMLFormElement, make: (of: (name: string) => string) => Readonly<Record<string, string | undefined>>) => {
    const data = new FormData(f);
    const of = (name: string) => {
      const v = data.get(name);
      return typeof v === "string" ? v.trim() : "";
    };
    goTo(within(params(), { view: "compare", ...make(of) }));
  };
  const form = (title: string, words: string, fields: ComponentChildren, make: (of: (name: string) => string) => Readonly<Record<string, string | undefined>>) => (
    <form
      class="card pad ask-form"
      aria-label={title}
      onSubmit={(e) => {
        e.preventDefault();
        go(e.currentTarget, make);
      }}
    >
      <h2>{title}</h2>
      <p class="f3 sm">{words}</p>
      {fields}
      <button type="submit" class="btn main">
        Compare
      </button>
    </form>
  );
  const spans = (name: string, words: string, value: string) => (
    <label>
      {words}
      <input name={name} class="mono" defaultValue={value} key={value} />
    </label>
  );
  const d = deploys.find(hasSides);
  const middle = (props.range.fromMs + props.range.untilMs) / 2;
  const t = (ms: number) => moment(ms).slice(0, props.range.untilMs - props.range.fromMs < 3600e3 ? 19 : 16);
  return (
    <div class="starts">
      {form(
        "Slow against fast",
        "Compare slow spans with fast ones.",
        <>
          {spans("q", "Spans", example)}
          <label>
            Slow from
            <select name="split">
              {SPLITS.filter((s) => s !== "errors" && s !== "all").map((s) => <option key={s} selected={s === "p95"}>{s}</option>)}
            </select>
          </label>
        </>,
        (of) => ({ q: of("q"), split: of("split") }),
      )}
      {form("Failed and successful", "Compare failed spans with the others.", spans("q", "Spans", example), (of) => ({ q: of("q"), split: "errors" }))}
      {form("Two queries", "Compare any two span sets.", <>{spans("left", "Left", example)}{spans("right", "Right", withCondition(example, "duration > 100ms"))}</>, (of) => ({ left: of("left"), right: of("right") }))}
      {form(
        "By an attribute",
        "Two values of one attribute: two hosts, two customers, two regions.",
        <>
          {spans("q", "Spans", example)}
          {spans("key", "Attribute", attribute.data?.key ?? "")}
          {spans("a", "Left has", attribute.data?.values[0] ?? "")}
          {spans("b", "Right has", attribute.data?.values[1] ?? "")}
        </>,
        (of) => ({ left: withCondition(of("q"), `${of("key")} = ${JSON.stringify(of("a"))}`), right: withCondition(of("q"), `${of("key")} = ${JSON.stringify(of("b"))}`) }),
      )}
      {form(
        "Two versions",
        d ? "Before and after a deploy." : "No new version in this time; enter two versions.",
        <>
          {spans("service", "Service", d?.service ?? busiest?.service ?? "")}
          {spans("a", "Before", d?.against ?? "")}
          {spans("b", "After", d?.version ?? "")}
        </>,
        (of) => deployLink({ service: of("service"), version: of("b"), against: of("a"), key: d?.key ?? KEYS[0] }),
      )}
      {form(
        "Two times",
        "Profiles of a service in two time ranges.",
        <>
          {spans("service", "Service", busiest?.service ?? "")}
          {spans("from", "Baseline from", t(props.range.fromMs))}
          {spans("until", "until", t(middle))}
        </>,
        (of) => {
          const [a, b] = [readMoment(of("from"), Date.now()), readMoment(of("until"), Date.now())];
          return { view: "profiles", service: of("service"), ...(Number.isFinite(a) && Number.isFinite(b) && a < b ? { base: `${String(a)}-${String(b)}` } : {}) };
        },
      )}
    </div>
  );
}

function versions(url: Params): Params {
  const { left, right } = sidesOf({ service: url["service"] ?? "", version: url["version"] ?? "", against: url["against"] ?? "", key: KEYS[0] }, DEPLOY_ENTRY);
  return { left, right };
}

export function Compare(props: { range: Range }) {
  const given = useUrl();
  // Of a deploy the server names service and versions alone.
  const url: Params = given["version"] !== undefined && given["left"] === undefined ? { ...given, ...versions(given) } : given;
  const isBy = url["by"] !== undefined;
  const query = { q: url["q"], by: url["by"], left: url["left"], right: url["right"], split: url["q"] === undefined || isBy ? undefined : (url["split"] ?? "p95"), type: url["type"], ...asked(props.range) };
  const names = sideNames(url);
  const isAll = query.q !== undefined && query.split === "all";
  const has = query.q !== undefined || (query.left !== undefined && query.right !== undefined);
  const answer = useAsk<Comparison>(has && !isAll ? JSON.stringify(query) : "", (s) => get("/api/v1/compare", query, s), true);
  const sides = answer.data && sidesFrom(url, answer.data);
  // The server explains slow spans of a query, and two versions of a service; other pairs are told by the comparison itself.
  const explained =
    url["version"] !== undefined
      ? { service: url["service"], version: url["version"], against: url["against"], ...asked(props.range) }
      : query.q !== undefined && !isBy && query.split !== "errors"
        ? { q: query.q, ...(isAll ? { focus: url["focus"] } : { split: query.split }), ...asked(props.range) }
        : undefined;
  const why = useExplain(explained);
  const isDeploy = url["version"] !== undefined;
  // A link may leave it to the server with which version to compare.
  const before = new URLSearchParams((why.data?.evidence.page ?? "").split("?")[1]).get("against") ?? "";
  useEffect(() => {
    if (isDeploy && url["against"] === undefined && before !== "") change({ against: before }, true);
  }, [isDeploy, url["against"], before]);
  useHead(isDeploy ? `${visible(url["service"] ?? "")} ${visible(url["version"] ?? "")} against ${visible(url["against"] ?? "")}` : "Compare", isDeploy ? `${url["service"] ?? ""} ${url["version"] ?? ""}` : has ? (url["q"] ?? (url["form"] === "box" ? "chosen spans" : "two queries")) : "", isDeploy ? (url["service"] ?? "") : "");
  if (!has)
    return (
      <section aria-labelledby="page-title">
        <Start range={props.range} />
      </section>
    );
  return (
    <section aria-labelledby="page-title">
      <div class="row compare-bar">
        <ViewLink to={{ view: "compare" }} class="btn">
          Another comparison
        </ViewLink>
        {url["left"] !== undefined && (
          <button type="button" class="btn" title="Swap sides" onClick={() => change({ left: url["right"], right: url["left"], form: "" })}>
            <Icon name="swap" /> Swap
          </button>
        )}
        {url["q"] !== undefined && (
          <form
            class="row grow"
            onSubmit={(e) => {
              e.preventDefault();
              const typed = new FormData(e.currentTarget).get("q");
              change({ q: typeof typed === "string" ? typed : "" });
            }}
          >
            <input name="q" class="grow mono" defaultValue={url["q"]} key={url["q"]} aria-label="TraceQL of the spans" />
            {!isBy && <label class="row one">
              Slow from{" "}
              <select value={query.split} onChange={(e) => change({ split: e.currentTarget.value })}>
                {SPLITS.map((s) => (
                  <option key={s} value={s}>
                    {s === "all" ? "not split: all spans" : s}
                  </option>
                ))}
              </select>
            </label>}
            <button type="submit" class="btn">
              Ask
            </button>
          </form>
        )}
      </div>
      {isAll && query.q !== undefined && <SetAll q={query.q} range={props.range} why={why} />}
      {explained && !isAll && <SetWhy asked={why} />}
      {!isAll && <AskedFrame what="the comparison" asked={answer}>
        {(c) => (
          <>
            <div class="sides">
              <Side title={names[0]} color="var(--less-2)" side={c.left} unit={c.unit} of={isDeploy ? `${url["service"] ?? ""} ${url["against"] ?? ""}` : undefined} />
              <Side title={names[1]} color="var(--more-2)" side={c.right} unit={c.unit} of={isDeploy ? `${url["service"] ?? ""} ${url["version"] ?? ""}` : undefined} />
            </div>
            {!explained && <div class="card why">
              <p class="says" data-answer>
                {c.time.summary !== "" ? <Sentence text={`${capital(c.time.summary.replace(/^right spans/, `${names[1]} spans`))}.`} parts={c.time.parts.map((p) => ({ part: p.part, words: p.words, ns: 0, low_ns: null, high_ns: null, functions: p.functions.map((f) => ({ function: f.function, caller: "", library: "", path: "", file: "", line: 0, ns: 0, low_ns: null, high_ns: null })) }))} /> : said(c.reason || c.note)}
              </p>
              <div class="meta">
                <span class={c.time.duration.isSignificant ? (c.time.duration.delta > 0 ? "chip bad" : "chip good") : "chip"}>{c.time.duration.isSignificant ? "Significant, 95 %" : "May be chance"}</span>
                <span>
                  {count(c.left.spans)} and {countOf(c.right.spans, "span")}
                </span>
                {sides && (
                  <ViewLink to={{ view: "search", q: sides.right }} class="link">
                    {url["form"] === "box" ? "Chosen spans" : "Spans on the right"}
                  </ViewLink>
                )}
              </div>
              {c.note !== "" && c.time.summary !== "" && <p class="note">{said(c.note)}</p>}
              {c.reason !== "" && c.time.summary !== "" && <p class="note warn">{said(c.reason)}</p>}
            </div>}
            {explained && c.note !== "" && <p class="note">{said(c.note)}</p>}
            <div class="two-cards">
              {c.time.parts.length > 0 && <Bridge c={c} names={names} />}
              <Distribution sides={[spreadOf(names[0], "var(--less-3)", c.left), spreadOf(names[1], "var(--more-3)", c.right)]} />
            </div>
            <TimeParts time={c.time} names={names} />
            {c.functions.length > 0 && (
              <div class="card">
                <div class="toolbar">
                  <h2>{c.type === "" ? "Functions" : `Functions by ${visible(c.type.split(":")[1] ?? c.type)}`}</h2>
                </div>
                <div class="table-scroll table-part">
                  <SortTable label="Functions that differ" columns={columns(c.unit, names)} rows={c.functions} rowKey={(f) => f.function} max={50} stateKey="sort" />
                </div>
              </div>
            )}
            {sides && (
              <div class="card graph-part">
                <div class="toolbar">
                  <h2>Difference per span</h2>
                  <span class="spring" />
                  <DiffTypes type={url["type"] ?? ""} range={props.range} />
                </div>
                {url["type"] === undefined && (
                  <p class="legend pad-x">
                    <PartLegend has={new Set(c.time.parts.map((p) => p.part).filter((p) => p !== "cpu" && p !== "child" && p !== "remote"))} />
                  </p>
                )}
                <DiffGraph left={sides.left} right={sides.right} range={props.range} type={url["type"]} />
              </div>
            )}
          </>
        )}
      </AskedFrame>}
    </section>
  );
}
