import { useEffect, useRef, useState } from "preact/hooks";
import { DEFAULT_FROM, DEFAULT_UNTIL, PRESETS, readMoment } from "../state/range";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";
import { moment } from "../format/units";

const REFRESH = ["", "5s", "15s", "1m", "5m"] as const;
const REFRESH_MS: Readonly<Record<string, number>> = { "5s": 5e3, "15s": 15e3, "1m": 60e3, "5m": 300e3 };

function words(from: string, until: string): string {
  const preset = /^now-(\w+)$/.exec(from);
  if (preset && until === "now") return `last ${preset[1] ?? ""}`;
  const side = (t: string) => (/^\d+$/.test(t) ? moment(Number(t)).slice(0, 19) : t);
  return `${side(from)} – ${side(until)}`;
}

/** Presets, a typed range, refresh. Dragging on a chart writes the same two values. */
export function RangeControl(props: { onRefresh: () => void }) {
  const url = useUrl();
  const from = url["from"] ?? DEFAULT_FROM;
  const until = url["until"] ?? DEFAULT_UNTIL;
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState({ from, until });
  const [fault, setFault] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const refresh = url["refresh"] ?? "";

  useEffect(() => setTyped({ from, until }), [from, until]);
  useEffect(() => {
    const ms = REFRESH_MS[refresh];
    if (ms === undefined) return undefined;
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") props.onRefresh();
    }, ms);
    return () => clearInterval(timer);
  }, [refresh, props.onRefresh]);
  useEffect(() => {
    if (!open) return undefined;
    const away = (e: MouseEvent) => {
      if (e.target instanceof Node && !box.current?.contains(e.target)) setOpen(false);
    };
    addEventListener("mousedown", away);
    return () => removeEventListener("mousedown", away);
  }, [open]);

  const apply = (e: Event) => {
    e.preventDefault();
    const a = readMoment(typed.from, Date.now());
    const b = readMoment(typed.until, Date.now());
    if (!Number.isFinite(a) || !Number.isFinite(b)) setFault("Write now-90m, now, or 2026-01-31 14:05.");
    else if (a >= b) setFault("The range ends before it begins.");
    else {
      const out = (t: string, ms: number) => (t.trim().startsWith("now") ? t.trim() : String(ms));
      setFault("");
      setOpen(false);
      change({ from: out(typed.from, a), until: out(typed.until, b) });
    }
  };

  return (
    <div class="range" ref={box} onKeyDown={(e) => e.key === "Escape" && setOpen(false)}>
      <button type="button" aria-expanded={open} aria-haspopup="dialog" onClick={() => setOpen(!open)} title="Time range">
        {words(from, until)}
      </button>
      <button type="button" onClick={props.onRefresh} title="Ask again" aria-label="Ask again">
        ⟳
      </button>
      <select aria-label="Refresh by itself" value={refresh} onChange={(e) => change({ refresh: e.currentTarget.value }, true)}>
        {REFRESH.map((r) => (
          <option key={r} value={r}>
            {r === "" ? "off" : r}
          </option>
        ))}
      </select>
      {open && (
        <div class="popover" role="dialog" aria-label="Time range">
          <div class="presets">
            {PRESETS.map((p) => (
              <button
                type="button"
                key={p}
                aria-pressed={from === `now-${p}` && until === "now"}
                onClick={() => {
                  setOpen(false);
                  change({ from: `now-${p}`, until: "now" });
                }}
              >
                {p}
              </button>
            ))}
          </div>
          <form onSubmit={apply}>
            <label>
              From <input value={typed.from} onInput={(e) => setTyped({ ...typed, from: e.currentTarget.value })} />
            </label>
            <label>
              Until <input value={typed.until} onInput={(e) => setTyped({ ...typed, until: e.currentTarget.value })} />
            </label>
            {fault !== "" && (
              <p class="note bad" role="alert">
                {fault}
              </p>
            )}
            <button type="submit" class="main">
              Apply
            </button>
          </form>
        </div>
      )}
    </div>
  );
}
