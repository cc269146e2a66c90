// The view of alerts: firing and pending alerts, rules with their last seven days, the history, and for each alert a menu of silences.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, get, send } from "../api/client";
import { needCredentials } from "../api/token";
import { useAsk } from "../api/use_ask";
import { visible } from "../format/safe_text";
import { count, countOf, ESTIMATE } from "../format/units";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { Popover } from "../parts/popover";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame, Failure } from "../parts/states";
import { useHead } from "../state/head";
import { parse } from "../state/url";
import { AlertLine, HistoryStrip, type Labels, type Limit } from "./alert_lines";

interface Alert {
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly state: string;
  readonly activeAt: string;
  readonly value: string;
  /** A quantile, estimated from buckets */
  readonly isEstimate?: boolean;
  readonly silenced?: boolean;
}

interface Rule {
  readonly name: string;
  readonly query: string;
  readonly state: string;
  readonly health: string;
  readonly lastError?: string;
  readonly duration: number;
  readonly lastEvaluation?: string;
  readonly traceql?: string;
  readonly threshold?: number;
  readonly windowSeconds?: number;
}

interface AlertEvent {
  readonly rule: string;
  readonly labels: Labels;
  readonly firedAt: string;
  readonly resolvedAt: string | null;
  readonly value: string;
  readonly isEstimate?: boolean;
  readonly silenced: boolean;
  readonly why: string;
}

const REFRESH_MS = 5000;
const SHOWN = 50;
const FOR = ["1h", "2h", "1d"] as const;

function others(labels: Labels): string {
  return Object.entries(labels)
    .filter(([k]) => k !== "alertname")
    .map(([k, v]) => `${k}=${v}`)
    .join(", ");
}

function when(text: string): string {
  return text.slice(0, 19).replace("T", " ");
}

/** Silences all alerts with these labels for a time; `said` is the message to show. */
function useSilence(onDone: () => void) {
  const [said, setSaid] = useState("");
  const [error, setError] = useState<ApiError>();
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const silence = useCallback(
    (labels: Labels, duration: string) => {
      const matchers = Object.entries(labels).map(([name, value]) => ({ name, value, isRegex: false, isEqual: true }));
      setError(undefined);
      send("/api/v1/silences", {}, { matchers, duration, createdBy: "page", comment: "silenced on the page" }, stop.current.signal)
        .then(() => {
          setSaid(`Silenced ${labels["alertname"] ?? ""} for ${duration}: no notifications are sent; it is still evaluated.`);
          onDone();
        })
        .catch((e: unknown) => {
          if (stop.current.signal.aborted) return;
          const told = e instanceof ApiError ? e : new ApiError(0, String(e), 0);
          if (told.status === 401) needCredentials(told.message);
          setError(told);
        });
    },
    [onDone],
  );
  return { said, error, silence };
}

function limitOf(rule: Rule | undefined): Limit | undefined {
  return rule?.traceql !== undefined && rule.threshold !== undefined && rule.windowSeconds !== undefined
    ? { traceql: rule.traceql, threshold: rule.threshold, windowSeconds: rule.windowSeconds }
    : undefined;
}

/** Link to the evidence: the one that the server sent, otherwise a search with the rule's query. */
function whyOf(a: Alert, rule: Rule | undefined): Readonly<Record<string, string>> | undefined {
  const page = a.annotations["page"] ?? "";
  if (page !== "") return parse(page);
  return rule?.traceql === undefined ? undefined : { view: "search", q: rule.traceql };
}

function AlertCard(props: { alert: Alert; rule: Rule | undefined; nowMs: number; silence: (labels: Labels, duration: string) => void }) {
  const { alert: a, rule } = props;
  const name = a.labels["alertname"] ?? "";
  const limit = limitOf(rule);
  const why = whyOf(a, rule);
  const says = a.annotations["why"] ?? a.annotations["summary"] ?? "";
  const isFiring = a.state === "firing";
  return (
    <li class="alert-card">
      <div class="row">
        <span class={isFiring ? "chip bad" : "chip warn"}>{isFiring ? `firing${a.silenced === true ? ", silenced" : ""}` : visible(a.state)}</span>
        <Name text={name} class="strong" />
        <span class="f3 sm nw">
          since <time dateTime={a.activeAt}>{visible(when(a.activeAt))}</time>
        </span>
        <Name text={others(a.labels)} class="f3 sm" />
      </div>
      {says !== "" && <p class="t">{visible(says)}</p>}
      <div class="row">
        <span class="nw">
          value {a.isEstimate === true ? ESTIMATE : ""}
          {visible(a.value)}
        </span>
        {limit && <AlertLine limit={limit} labels={a.labels} nowMs={props.nowMs} />}
        {rule && <code class="sm f2">{visible(rule.query)}</code>}
        <span class="spring" />
        {why && (
          <ViewLink to={why} class="btn main s" label={`Why: ${visible(name)}`}>
            Why
          </ViewLink>
        )}
        <Popover label={`Silence: ${visible(name)}`} panel="Silence for" class="btn s" button={a.silenced === true ? "Silenced ▾" : "Silence ▾"}>
          {(close) => (
            <div class="menu-list">
              {FOR.map((d) => (
                <button
                  type="button"
                  key={d}
                  onClick={() => {
                    close();
                    props.silence(a.labels, d);
                  }}
                >
                  For {d}
                </button>
              ))}
            </div>
          )}
        </Popover>
      </div>
    </li>
  );
}

interface Trial {
  readonly fired: readonly unknown[];
  readonly unknown: number;
}

/** Evaluates the rule over the last day on request and shows how often it would have fired. */
function WouldFire(props: { rule: string }) {
  const [isAsked, ask] = useState(false);
  const q = { rule: props.rule };
  const trial = useAsk<Trial>(isAsked ? `trial ${props.rule}` : "", (s) => get("/api/v1/alerts/test", q, s));
  if (!isAsked)
    return (
      <button type="button" class="btn s" aria-label={`Would have fired: ${visible(props.rule)}`} onClick={() => ask(true)}>
        Last day?
      </button>
    );
  if (trial.error) return <span class="bad sm">{visible(trial.error.message)}</span>;
  if (!trial.data) return <span class="faint">…</span>;
  return (
    <span class="sm nw">
      {countOf(trial.data.fired.length, "time")}
      {trial.data.unknown > 0 && `, ${count(trial.data.unknown)} moments unknown`}
    </span>
  );
}

function ruleColumns(events: readonly AlertEvent[], nowMs: number): readonly Column<Rule>[] {
  return [
    { key: "name", title: "Rule", by: (r) => r.name, cell: (r) => <Name text={r.name} /> },
    { key: "state", title: "State", by: (r) => r.state, cell: (r) => visible(r.state) },
    { key: "query", title: "Condition", isWide: true, by: (r) => r.query, cell: (r) => <code>{visible(r.query)}</code> },
    { key: "week", title: "Last 7 days", cell: (r) => <HistoryStrip events={events.filter((e) => e.rule === r.name)} nowMs={nowMs} /> },
    { key: "trial", title: "Would have fired", cell: (r) => <WouldFire rule={r.name} /> },
    {
      key: "health",
      title: "Evaluated",
      by: (r) => r.lastEvaluation ?? "",
      cell: (r) => (r.health === "err" ? <span class="bad">{visible(r.lastError ?? "not evaluated")}</span> : r.health === "ok" ? <span class="nw">{visible(when(r.lastEvaluation ?? ""))}</span> : "not yet"),
    },
  ];
}

const EVENTS: readonly Column<AlertEvent>[] = [
  { key: "fired", title: "Fired", by: (e) => e.firedAt, cell: (e) => <time dateTime={e.firedAt}>{visible(when(e.firedAt))}</time> },
  { key: "until", title: "Until", by: (e) => e.resolvedAt ?? "", cell: (e) => (e.resolvedAt === null ? "still firing" : <time dateTime={e.resolvedAt}>{visible(when(e.resolvedAt))}</time>) },
  { key: "rule", title: "Rule", by: (e) => e.rule, cell: (e) => <Name text={e.rule} /> },
  { key: "labels", title: "Labels", by: (e) => others(e.labels), cell: (e) => visible(others(e.labels)) },
  { key: "value", title: "Value", isNumber: true, by: (e) => Number(e.value), cell: (e) => `${e.isEstimate === true ? ESTIMATE : ""}${visible(e.value)}` },
  { key: "why", title: "Why", isWide: true, by: (e) => e.why, cell: (e) => visible(e.silenced ? `silenced; ${e.why}` : e.why) },
];

const KEPT = "1000";
const MINUTE_MS = 60e3;

export function AlertsView() {
  const alerts = useAsk<{ data: { alerts: readonly Alert[] } }>("alerts", (s) => get("/api/v1/alerts", {}, s));
  const rules = useAsk<{ data: { groups: readonly { rules: readonly Rule[] }[] } }>("rules", (s) => get("/api/v1/rules", {}, s));
  const history = useAsk<{ events: readonly AlertEvent[]; more: number }>("alert history", (s) => get("/api/v1/alerts/history", { limit: KEPT }, s));
  useHead("Alerts");
  const againAlerts = alerts.again;
  const againHistory = history.again;
  const [nowMs, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => {
      againAlerts();
      againHistory();
      setNow((was) => (Date.now() - was > MINUTE_MS ? Date.now() : was));
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [againAlerts, againHistory]);
  const doing = useSilence(againAlerts);
  const all = rules.data?.data.groups.flatMap((g) => g.rules) ?? [];
  const events = history.data?.events ?? [];
  const columns = useMemo(() => ruleColumns(events, nowMs), [history.data, nowMs]);
  return (
    <section aria-labelledby="page-title">
      {doing.error && <Failure sentence={doing.error.message} status={doing.error.status} retryAfterS={doing.error.retryAfterS} />}
      {doing.said !== "" && <p role="status">{visible(doing.said)}</p>}
      <AskedFrame what="the alerts" asked={alerts} empty={(d) => (d.data.alerts.length === 0 ? <p>No alert is pending or firing.</p> : undefined)}>
        {(d) =>
          (["firing", "pending"] as const).map((state) => {
            const some = d.data.alerts.filter((a) => (a.state === "firing") === (state === "firing"));
            return some.length === 0 ? null : (
              <article class="card" key={state}>
                <h2 class="row pad">
                  {state === "firing" ? "Firing" : "Pending"} <span class="f3">{count(some.length)}</span>
                </h2>
                <ul class="alert-list" aria-label={state === "firing" ? "Firing alerts" : "Pending alerts"}>
                  {some.slice(0, SHOWN).map((a) => (
                    <AlertCard key={JSON.stringify(a.labels)} alert={a} rule={all.find((r) => r.name === a.labels["alertname"])} nowMs={nowMs} silence={doing.silence} />
                  ))}
                </ul>
                {some.length > SHOWN && <p class="note pad">The first {SHOWN} of {count(some.length)}.</p>}
              </article>
            );
          })
        }
      </AskedFrame>
      <AskedFrame what="the rules" asked={rules} empty={(d) => (d.data.groups.length === 0 ? <p>This server has no alert rules: add some under alerts.rules in its configuration.</p> : undefined)}>
        {() => (
          <details class="card rules" open={(alerts.data?.data.alerts.length ?? 1) === 0}>
            <summary class="pad">
              <h2>Rules</h2> <span class="f3">{count(all.length)}</span>
            </summary>
            <div class="table-scroll">
              <SortTable label="Rules" columns={columns} rows={all} rowKey={(r) => r.name} first="state" />
            </div>
          </details>
        )}
      </AskedFrame>
      <AskedFrame what="the history of alerts" asked={history}>
        {(d) => d.events.length > 0 && (
          <article class="card">
            <h2 class="row pad">What fired</h2>
            <div class="table-scroll">
              <SortTable label="History of alerts" columns={EVENTS} rows={d.events} rowKey={(e) => e.rule + e.firedAt + JSON.stringify(e.labels)} first="fired" max={50} />
            </div>
            {d.more > 0 && <p class="note pad">The newest {count(d.events.length)}; {count(d.more)} older ones are kept.</p>}
          </article>
        )}
      </AskedFrame>
    </section>
  );
}
