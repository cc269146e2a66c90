// Parts of a duration: their colours and patterns, as a bar, as a table, as a legend.

import type { ExplainPart } from "../api/types";
import { partToken } from "../flame/colors";
import { said, visible } from "../format/safe_text";
import { duration, ESTIMATE, percent, samples } from "../format/units";
import { Fig } from "../parts/figure";
import { ViewLink } from "../parts/link";
import { sourceAddress } from "../state/links";

export function partClass(part: string): string {
  return `p p-${partToken(part)}`;
}

const LAST = ["child", "remote", "unknown"];

/** By size, child spans and what is unknown last. */
export function inOrder<T extends { part: string; ns: number }>(parts: readonly T[]): T[] {
  const rank = (p: T) => LAST.indexOf(p.part);
  return parts.filter((p) => p.ns > 0).sort((a, b) => (rank(a) < 0 ? -1 : rank(a)) - (rank(b) < 0 ? -1 : rank(b)) || b.ns - a.ns);
}

export interface Slice {
  readonly part: string;
  readonly words: string;
  readonly ns: number;
  readonly estimate?: boolean;
  readonly few_samples?: number;
}

export function time(p: Slice): string {
  if (p.few_samples !== undefined) return samples(p.few_samples);
  return (p.estimate === true ? ESTIMATE : "") + duration(p.ns);
}

export function share(p: Slice, whole: number): string {
  return p.few_samples !== undefined ? "" : (p.estimate === true ? ESTIMATE : "") + percent(p.ns / (whole || 1));
}

export function partsWords(parts: readonly Slice[], whole: number): string {
  return parts.map((p) => `${p.words} ${time(p)}${p.few_samples === undefined ? ` (${share(p, whole)})` : ""}`).join(", ");
}

export function BreakdownBar(props: { parts: readonly Slice[]; whole: number; isTall?: boolean; label?: string }) {
  const parts = inOrder(props.parts);
  return (
    <div class={props.isTall ? "bd tall" : "bd"} role="img" aria-label={`${props.label ?? "Time breakdown"}: ${partsWords(parts, props.whole)}`}>
      {parts.map((p) => (
        <i key={p.part} class={partClass(p.part)} style={{ flexGrow: String(p.ns), flexBasis: "0" }} title={partsWords([p], props.whole)} />
      ))}
    </div>
  );
}

/** "6–14 ms": both ends in one unit where they have it. */
export function interval(low: number | null, high: number | null): string {
  if (low === null || high === null) return "";
  const [a, b] = [duration(low).split(" "), duration(high).split(" ")];
  return a[1] === b[1] ? `${a[0] ?? ""}–${b[0] ?? ""} ${b[1] ?? ""}` : `${a.join(" ")}–${b.join(" ")}`;
}

function known(p: ExplainPart): string {
  if (p.part === "unknown") return "";
  if (p.low_ns !== null && p.low_ns === p.ns && p.high_ns === p.ns) return "exact";
  return interval(p.low_ns, p.high_ns);
}

function Where(props: { part: ExplainPart }) {
  const f = props.part.functions?.[0];
  const c = props.part.children?.[0];
  if (f) {
    const place = f.file === "" ? "" : `${f.file.slice(f.file.lastIndexOf("/") + 1)}${f.line > 0 ? `:${String(f.line)}` : ""}`;
    const href = sourceAddress({ function: f.function, file: f.file, line: f.line });
    return (
      <span class="where" title={visible(f.path)}>
        <bdi class="mono b">{visible(f.function)}</bdi>
        {place !== "" && (href === "" ? <bdi class="mono f3"> {visible(place)}</bdi> : <> <a class="mono" href={href} target="_blank" rel="noopener noreferrer">{visible(place)}</a></>)} {duration(f.ns)}
        {f.library !== "" && <> in {visible(f.library)}</>}
        {(props.part.functions?.length ?? 0) > 1 && <span class="f3"> and {(props.part.functions?.length ?? 1) - 1} more</span>}
        {(props.part.reason ?? "") !== "" && <span class="f3" title={said(props.part.reason ?? "")}>, {said(props.part.reason ?? "")}</span>}
      </span>
    );
  }
  if (c) {
    return (
      <span class="where">
        <ViewLink to={{ view: "trace", id: c.trace, span: c.span, pane: "why" }}>
          <bdi>{visible(c.name)}</bdi>
        </ViewLink>{" "}
        {c.count > 1 ? `×${String(c.count)} ` : ""}
        {duration(c.ns)}
        {(props.part.children?.length ?? 0) > 1 && <span class="f3"> and {(props.part.children?.length ?? 1) - 1 + (props.part.more_children ?? 0)} more</span>}
      </span>
    );
  }
  return <span class="f3 where" title={said(props.part.reason ?? "")}>{said(props.part.reason ?? "")}</span>;
}

/** The parts with shares of a named base; a row narrows the graph below to it. */
export function BreakdownTable(props: { parts: readonly ExplainPart[]; whole: number; chosen: string; onPart: (part: string) => void }) {
  const parts = inOrder(props.parts);
  const most = [...parts].sort((a, b) => b.ns - a.ns)[0]?.part ?? "";
  return (
    <table class="lt" aria-label="Time breakdown" data-parts>
      <thead class="off-head">
        <tr>
          <th>Part</th>
          <th class="number">Time</th>
          <th class="number">Share</th>
          <th>Interval</th>
          <th>Where</th>
        </tr>
      </thead>
      <tbody>
        {parts.map((p) => {
          const opens = p.profile !== null && p.profile !== undefined;
          const key = p.part === "on_cpu" ? "cpu" : p.part;
          return (
            <tr key={p.part} data-part={opens ? key : ""} aria-selected={props.chosen === "" ? p.part === most : props.chosen === key} class={opens ? "clickable" : undefined} onClick={(e) => opens && !(e.target instanceof Element && e.target.closest("a,button")) && props.onPart(props.chosen === key ? "" : key)}>
              <td>
                <i class={`key ${partClass(p.part)}`} aria-hidden="true" />{" "}
                {opens ? (
                  <button type="button" class="plain" aria-pressed={props.chosen === key} title="Only this part in the graph" onClick={() => props.onPart(props.chosen === key ? "" : key)}>
                    {p.words}
                  </button>
                ) : (
                  p.words
                )}
              </td>
              <td class="number b">
                <Fig text={time(p)} />
              </td>
              <td class="number f2">
                <Fig text={share(p, props.whole)} />
              </td>
              <td class="f3 sm">{known(p)}</td>
              <td class="wide">
                <Where part={p} />
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

const LEGEND: readonly (readonly [string, string])[] = [
  ["cpu", "running"],
  ["gc", "garbage collection"],
  ["run_queue", "waiting for a CPU"],
  ["lock", "lock"],
  ["disk", "disk"],
  ["net", "network"],
  ["sleep", "sleep"],
  ["unknown", "unknown"],
];

/** Only of the parts that are there, when it is known which. */
export function PartLegend(props: { has?: ReadonlySet<string> }) {
  return (
    <>
      {LEGEND.filter(([p]) => props.has === undefined || props.has.has(p) || (p === "net" && props.has.has("io"))).map(([p, words]) => (
        <span key={p}>
          <i class={`key ${partClass(p)}`} aria-hidden="true" /> {words}
        </span>
      ))}
    </>
  );
}
