// Alerts: what is pending or fires, what fired lately, rules, and silences with a button for each alert.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, send } from "../api/client";
import { needCredentials } from "../api/token";
import { useAsk } from "../api/use_ask";
import { visible } from "../format/safe_text";
import { ESTIMATE } from "../format/units";
import { Name } from "../parts/name";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame, Failure } from "../parts/states";
import { useHead } from "../state/head";

type Labels = Readonly<Record<string, string>>;

interface Alert {
  readonly labels: Labels;
  readonly annotations: Labels;
  readonly state: string;
  readonly activeAt: string;
  readonly value: string;
  /** A quantile: read off buckets */
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
const FOR = "2h";

function others(labels: Labels): string {
  return Object.entries(labels)
    .filter(([k]) => k !== "alertname")
    .map(([k, v]) => `${k}=${v}`)
    .join(", ");
}

function when(text: string): string {
  return text.slice(0, 19).replace("T", " ");
}

/** Silences all alerts with these labels for a while, and keeps what the server said. */
function useSilence(onDone: () => void) {
  const [said, setSaid] = useState("");
  const [error, setError] = useState<ApiError>();
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);
  const silence = useCallback(
    (labels: Labels) => {
      const matchers = Object.entries(labels).map(([name, value]) => ({ name, value, isRegex: false, isEqual: true }));
      setError(undefined);
      send("/api/v1/silences", {}, { matchers, duration: FOR, createdBy: "page", comment: "silenced on the page" }, stop.current.signal)
        .then(() => {
          setSaid(`Silenced ${labels["alertname"] ?? ""} for ${FOR}: no notifications are sent; it is still evaluated.`);
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

function alertColumns(silence: (labels: Labels) => void): readonly Column<Alert>[] {
  return [
    { key: "name", title: "Alert", by: (a) => a.labels["alertname"] ?? "", cell: (a) => <Name text={a.labels["alertname"] ?? ""} /> },
    { key: "state", title: "State", by: (a) => a.state, cell: (a) => (a.state === "firing" ? <span class="bad">firing{a.silenced === true ? ", silenced" : ""}</span> : visible(a.state)) },
    { key: "since", title: "Since", by: (a) => a.activeAt, cell: (a) => <time dateTime={a.activeAt}>{visible(when(a.activeAt))}</time> },
    { key: "value", title: "Value", isNumber: true, by: (a) => Number(a.value), cell: (a) => `${a.isEstimate === true ? ESTIMATE : ""}${visible(a.value)}` },
    { key: "labels", title: "Labels", by: (a) => others(a.labels), cell: (a) => visible(others(a.labels)) },
    { key: "why", title: "Why", isWide: true, by: (a) => a.annotations["why"] ?? "", cell: (a) => visible(a.annotations["why"] ?? a.annotations["summary"] ?? "") },
    {
      key: "silence",
      title: "Silence",
      cell: (a) => (
        <button type="button" disabled={a.silenced === true} aria-label={`Silence: ${visible(a.labels["alertname"] ?? "")}`} onClick={() => silence(a.labels)}>
          {a.silenced === true ? "Silenced" : `For ${FOR}`}
        </button>
      ),
    },
  ];
}

const RULES: readonly Column<Rule>[] = [
  { key: "name", title: "Rule", by: (r) => r.name, cell: (r) => <Name text={r.name} /> },
  { key: "state", title: "State", by: (r) => r.state, cell: (r) => visible(r.state) },
  { key: "query", title: "Condition", isWide: true, by: (r) => r.query, cell: (r) => <code>{visible(r.query)}</code> },
  { key: "health", title: "Evaluated", by: (r) => r.health, cell: (r) => (r.health === "err" ? <span class="bad">{visible(r.lastError ?? "not evaluated")}</span> : visible(r.health)) },
];

const EVENTS: readonly Column<AlertEvent>[] = [
  { key: "fired", title: "Fired", by: (e) => e.firedAt, cell: (e) => <time dateTime={e.firedAt}>{visible(when(e.firedAt))}</time> },
  { key: "until", title: "Until", by: (e) => e.resolvedAt ?? "", cell: (e) => (e.resolvedAt === null ? "still firing" : <time dateTime={e.resolvedAt}>{visible(when(e.resolvedAt))}</time>) },
  { key: "rule", title: "Rule", by: (e) => e.rule, cell: (e) => <Name text={e.rule} /> },
  { key: "labels", title: "Labels", by: (e) => others(e.labels), cell: (e) => visible(others(e.labels)) },
  { key: "value", title: "Value", isNumber: true, by: (e) => Number(e.value), cell: (e) => `${e.isEstimate === true ? ESTIMATE : ""}${visible(e.value)}` },
  { key: "why", title: "Why", isWide: true, by: (e) => e.why, cell: (e) => visible(e.silenced ? `silenced; ${e.why}` : e.why) },
];

export function AlertsView() {
  const alerts = useAsk<{ data: { alerts: readonly Alert[] } }>("alerts", (s) => get("/api/v1/alerts", {}, s));
  const rules = useAsk<{ data: { groups: readonly { rules: readonly Rule[] }[] } }>("rules", (s) => get("/api/v1/rules", {}, s));
  const history = useAsk<{ events: readonly AlertEvent[]; more: number }>("alert history", (s) => get("/api/v1/alerts/history", {}, s));
  useHead("Alerts");
  const againAlerts = alerts.again;
  const againHistory = history.again;
  useEffect(() => {
    const timer = setInterval(() => {
      againAlerts();
      againHistory();
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [againAlerts, againHistory]);
  const doing = useSilence(againAlerts);
  return (
    <section aria-labelledby="page-title">
      {doing.error && <Failure sentence={doing.error.message} status={doing.error.status} retryAfterS={doing.error.retryAfterS} />}
      {doing.said !== "" && <p role="status">{visible(doing.said)}</p>}
      <AskedFrame asked={alerts} empty={(d) => (d.data.alerts.length === 0 ? <p>No alert is pending or firing.</p> : undefined)}>
        {(d) => (
          <article class="card">
            <h2 class="row pad">Pending and firing</h2>
            <div class="table-scroll">
              <SortTable label="Alerts" columns={alertColumns(doing.silence)} rows={d.data.alerts} rowKey={(a) => JSON.stringify(a.labels)} first="state" />
            </div>
          </article>
        )}
      </AskedFrame>
      <AskedFrame asked={history}>
        {(d) => d.events.length > 0 && (
          <article class="card">
            <h2 class="row pad">What fired</h2>
            <div class="table-scroll">
              <SortTable label="History of alerts" columns={EVENTS} rows={d.events} rowKey={(e) => e.rule + e.firedAt + JSON.stringify(e.labels)} first="fired" max={50} />
            </div>
            {d.more > 0 && <p class="note pad">The newest {d.events.length}; {d.more} older ones are kept.</p>}
          </article>
        )}
      </AskedFrame>
      <AskedFrame asked={rules} empty={(d) => (d.data.groups.length === 0 ? <p>This server has no alert rules: add some under alerts.rules in its configuration.</p> : undefined)}>
        {(d) => (
          <article class="card">
            <h2 class="row pad">Rules</h2>
            <div class="table-scroll">
              <SortTable label="Rules" columns={RULES} rows={d.data.groups.flatMap((g) => g.rules)} rowKey={(r) => r.name} first="state" />
            </div>
          </article>
        )}
      </AskedFrame>
    </section>
  );
}
