// Lines of a source file with what each cost, where the server may read it.

import type { ComponentChildren } from "preact";
import { get } from "../api/client";
import { useAsk } from "../api/use_ask";
import { visible } from "../format/safe_text";

interface SourceLines {
  file: string;
  first: number;
  lines: string[];
}

interface Row {
  readonly file: string;
  readonly line: number;
  readonly self: number;
  readonly total: number;
}

/** Lines shown around those that cost something, and of one answer at most. */
const AROUND = 4;
const MOST = 1000;

/** Code keeps its blanks; what would act on the text is shown as what it is. */
function codeOf(line: string): string {
  return visible(line.replace(/\t/g, "    "));
}

export function SourceText(props: { rows: readonly Row[]; figure: (n: number) => string; address: (line: number) => string; otherwise: ComponentChildren }) {
  const { rows, figure } = props;
  const file = rows[0]?.file ?? "";
  const from = Math.max(1, Math.min(...rows.map((r) => r.line)) - AROUND);
  const until = Math.min(from + MOST - 1, Math.max(...rows.map((r) => r.line)) + AROUND);
  const query = { file, from: String(from), until: String(until) };
  const asked = useAsk<SourceLines>(`source ${JSON.stringify(query)}`, (s) => get("/api/v1/source", query, s), true);
  if (asked.error)
    return (
      <>
        <p class="note pad-x">No source text: {visible(asked.error.message)}</p>
        {props.otherwise}
      </>
    );
  const told = asked.data;
  if (!told) return <>{props.otherwise}</>;
  const most = Math.max(...rows.map((r) => r.total), 1e-9);
  const last = told.first + told.lines.length - 1;
  const beyond = rows.filter((r) => r.line > last).length;
  return (
    <>
      <p class="note pad-x mono">
        <bdi>{visible(told.file)}</bdi>
      </p>
      <table class="lt source" aria-label={`Source of ${visible(told.file)}`}>
        <thead class="off-head">
          <tr>
            <th class="number">Self</th>
            <th class="number">Total</th>
            <th class="number">Line</th>
            <th class="wide">Source</th>
          </tr>
        </thead>
        <tbody>
          {told.lines.map((text, i) => {
            const number = told.first + i;
            const cost = rows.find((r) => r.line === number);
            const href = props.address(number);
            return (
              <tr key={number} class={cost ? "costs" : undefined} style={cost ? { background: `color-mix(in srgb, var(--t-cpu) ${String(Math.round((cost.total / most) * 22))}%, transparent)` } : undefined}>
                <td class="number">{cost ? figure(cost.self) : ""}</td>
                <td class="number">{cost ? figure(cost.total) : ""}</td>
                <td class="number f3">
                  {href === "" ? (
                    number
                  ) : (
                    <a href={href} target="_blank" rel="noopener noreferrer">
                      {number}
                    </a>
                  )}
                </td>
                <td class="wide">
                  <code>
                    <bdi>{codeOf(text)}</bdi>
                  </code>
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {beyond > 0 && <p class="note pad-x">{beyond} lines that cost something are not in the file, or too far from the others: it may have changed.</p>}
    </>
  );
}
