import { useEffect, useState } from "preact/hooks";
import { isAnyUnanswered } from "../api/use_ask";
import { moment } from "../format/units";
import { DEFAULT_FROM, DEFAULT_UNTIL, PRESETS, readMoment, zoomedOut } from "../state/range";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";
import { Icon } from "./icon";
import { Popover } from "./popover";

const REFRESH = ["", "5s", "15s", "1m", "5m"] as const;
const REFRESH_MS: Readonly<Record<string, number>> = { "5s": 5e3, "15s": 15e3, "1m": 60e3, "5m": 300e3 };
const FOLLOW = "15s";
/** Refreshes in a row that are left out while a query has no answer. */
const MOST_SKIPPED = 6;

const UNIT: Readonly<Record<string, string>> = { s: "s", m: "min", h: "h", d: "d", w: "weeks" };

/** "Last 1 h", "12:30–13:05", with the day where it is another than today. */
export function rangeWords(from: string, until: string, nowMs: number): string {
  const preset = /^now-(\d+)([smhdw])$/.exec(from);
  if (preset && until === "now") return `Last ${preset[1] ?? ""} ${UNIT[preset[2] ?? ""] ?? ""}`;
  const a = moment(readMoment(from, nowMs));
  const b = moment(readMoment(until, nowMs));
  const today = moment(nowMs).slice(0, 10);
  const short = Math.abs(readMoment(until, nowMs) - readMoment(from, nowMs)) < 600e3 ? 19 : 16;
  const day = (t: string) => (t.slice(0, 10) === today ? "" : `${t.slice(5, 10)} `);
  return `${day(a)}${a.slice(11, short)}–${a.slice(0, 10) === b.slice(0, 10) ? "" : day(b)}${b.slice(11, short)}`;
}

/** What a calendar field takes: local time without a zone. */
function fieldText(ms: number): string {
  const t = moment(ms);
  return Number.isFinite(ms) ? `${t.slice(0, 10)}T${t.slice(11, 16)}` : "";
}

function Side(props: { words: string; value: string; onChange: (text: string) => void }) {
  return (
    <div class="range-side">
      <label>
        {props.words} <input value={props.value} onInput={(e) => props.onChange(e.currentTarget.value)} />
      </label>
      <input
        type="datetime-local"
        aria-label={`${props.words}, by the calendar`}
        value={fieldText(readMoment(props.value, Date.now()))}
        onChange={(e) => e.currentTarget.value !== "" && props.onChange(e.currentTarget.value.replace("T", " "))}
      />
    </div>
  );
}

function Panel(props: { from: string; until: string; refresh: string; close: () => void }) {
  const { from, until } = props;
  const [typed, setTyped] = useState({ from, until });
  const [fault, setFault] = useState("");
  const apply = (e: Event) => {
    e.preventDefault();
    const a = readMoment(typed.from, Date.now());
    const b = readMoment(typed.until, Date.now());
    if (!Number.isFinite(a) || !Number.isFinite(b)) setFault("Write now-90m, now, or 2026-01-31 14:05.");
    else if (a >= b) setFault("The range ends before it begins.");
    else {
      const out = (t: string, ms: number) => (t.trim().startsWith("now") ? t.trim() : String(ms));
      props.close();
      change({ from: out(typed.from, a), until: out(typed.until, b) });
    }
  };
  return (
    <>
      <div class="presets">
        {PRESETS.map((p) => (
          <button
            type="button"
            key={p}
            aria-pressed={from === `now-${p}` && until === "now"}
            onClick={() => {
              props.close();
              change({ from: `now-${p}`, until: "now" });
            }}
          >
            {p}
          </button>
        ))}
      </div>
      <form onSubmit={apply}>
        <Side words="From" value={typed.from} onChange={(t) => setTyped({ ...typed, from: t })} />
        <Side words="Until" value={typed.until} onChange={(t) => setTyped({ ...typed, until: t })} />
        {fault !== "" && (
          <p class="note bad" role="alert">
            {fault}
          </p>
        )}
        <div class="row">
          <button type="submit" class="btn main">
            Apply
          </button>
          <span class="spring" />
          <label class="row">
            Ask again by itself{" "}
            <select aria-label="Refresh by itself" value={props.refresh} onChange={(e) => change({ refresh: e.currentTarget.value }, true)}>
              {REFRESH.map((r) => (
                <option key={r} value={r}>
                  {r === "" ? "off" : r}
                </option>
              ))}
            </select>
          </label>
        </div>
      </form>
    </>
  );
}

/** Presets, a typed range, a calendar; twice as much by one click; new data as it comes. Dragging on a chart writes the
 * same two values. */
export function RangeControl(props: { onRefresh: () => void }) {
  const url = useUrl();
  const from = url["from"] ?? DEFAULT_FROM;
  const until = url["until"] ?? DEFAULT_UNTIL;
  const refresh = url["refresh"] ?? "";
  useEffect(() => {
    const ms = REFRESH_MS[refresh];
    if (ms === undefined) return undefined;
    let skipped = 0;
    const timer = setInterval(() => {
      if (document.visibilityState !== "visible") return;
      // A refresh replaces the view's queries: on a server slower than the interval none would ever be answered.
      if (isAnyUnanswered() && skipped < MOST_SKIPPED) {
        skipped++;
        return;
      }
      skipped = 0;
      props.onRefresh();
    }, ms);
    return () => clearInterval(timer);
  }, [refresh, props.onRefresh]);
  const words = rangeWords(from, until, Date.now());
  const follows = refresh !== "" && until === "now";
  return (
    <div class="join range">
      <Popover
        label={`Time range: ${words}`}
        panel="Time range"
        button={
          <>
            <Icon name="clock" />
            <span>{words}</span>
            <Icon name="down" size={12} />
          </>
        }
      >
        {(close) => <Panel from={from} until={until} refresh={refresh} close={close} />}
      </Popover>
      <button type="button" class="btn icon" title="Zoom out to twice the range" aria-label="Zoom out" onClick={() => change(zoomedOut({ from, until }, Date.now()))}>
        <Icon name="out" />
      </button>
      <button
        type="button"
        class="btn icon s-hide"
        aria-pressed={follows}
        title={follows ? "Stop following" : "Follow new data"}
        aria-label="Follow new data"
        onClick={() => change(follows ? { refresh: "" } : { refresh: FOLLOW, ...(until === "now" ? {} : { from: DEFAULT_FROM, until: "now" }) })}
      >
        <Icon name="play" />
      </button>
      <button type="button" class="btn icon" onClick={props.onRefresh} title="Ask again" aria-label="Ask again">
        <Icon name="again" />
      </button>
    </div>
  );
}
