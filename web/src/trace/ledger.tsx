import type { Ledger, LedgerPart } from "../api/types";
import { visible } from "../format/safe_text";
import { duration, ESTIMATE, percent, samples } from "../format/units";

const COLORS: Readonly<Record<string, string>> = {
  cpu: "#d55e00",
  gc: "#cc79a7",
  run_queue: "#f0b429",
  lock: "#7b3fa0",
  disk: "#0072b2",
  net: "#56b4e9",
  io: "#2a9bb0",
  sleep: "#9aa5b1",
  child: "#5bc8a4",
  remote: "#2f855a",
  unknown: "#c3c8cf",
};

export function partColor(part: string): string {
  return COLORS[part] ?? "#999";
}

/** An estimate is marked with ~; time that had no room in the span is named. */
function amount(p: LedgerPart): string {
  return (p.source === "estimate" ? ESTIMATE : "") + (p.fewSamples === undefined ? duration(p.ns) : samples(p.fewSamples));
}

function share(p: LedgerPart): string {
  if (p.fewSamples !== undefined) return "too few for times";
  return (p.source === "estimate" ? ESTIMATE : "") + percent(p.share);
}

function cutWords(p: LedgerPart): string {
  return p.cutNs > 0 && p.fewSamples === undefined ? `; cut to fit the span, ${duration(p.cutNs)} more was measured` : "";
}

function apartWords(ledger: Ledger): string {
  return ledger.parts
    .filter((p) => p.apartNs > 0)
    .map((p) => `${p.words} ${ESTIMATE}${duration(p.apartNs)}`)
    .join(", ");
}

export function ledgerWords(parts: readonly LedgerPart[]): string {
  return parts
    .filter((p) => p.ns > 0)
    .map((p) => `${p.words} ${amount(p)} (${share(p)})`)
    .join(", ");
}

/** Where a span's time went, as one bar; a part with a graph of its own opens it. */
export function LedgerBar(props: { ledger: Ledger; part?: string; onPart?: (part: string) => void }) {
  const parts = props.ledger.parts.filter((p) => p.ns > 0);
  return (
    <div class="ledger">
      <div class="ledger-bar" role="img" aria-label={`Where the time went: ${ledgerWords(parts)}`}>
        {parts.map((p) => (
          <span key={p.part} style={{ width: `${String(p.share * 100)}%`, background: partColor(p.part) }} title={`${p.words}: ${amount(p)}, ${share(p)} (${p.source}${cutWords(p)})`} />
        ))}
      </div>
      <ul class="ledger-words">
        {parts.map((p) => (
          <li key={p.part}>
            <span class="dot" style={{ background: partColor(p.part) }} />{" "}
            {props.onPart && p.profile !== null ? (
              <button type="button" class="plain link" aria-pressed={props.part === p.part} title="Its flame graph" onClick={() => props.onPart?.(props.part === p.part ? "" : p.part)}>
                {p.words}
              </button>
            ) : (
              p.words
            )}{" "}
            <b>{amount(p)}</b> <span class="faint">{share(p)}</span>
          </li>
        ))}
        {props.ledger.otherCpuNs > 0 && <li class="faint">other threads burnt {duration(props.ledger.otherCpuNs)} for it</li>}
        {apartWords(props.ledger) !== "" && <li class="faint">not counted, of the process and not tied to this span: {apartWords(props.ledger)}</li>}
      </ul>
      {props.ledger.reason !== "" && <p class="note">{visible(props.ledger.reason)}</p>}
    </div>
  );
}
