// The whole duration of two sets of spans, part by part, with the functions and child spans in each part.

import { useState } from "preact/hooks";
import type { ComparedFigure, ComparedFunction, ComparedPart, ComparedTime } from "../api/types";
import { said, visible } from "../format/safe_text";
import { duration, ESTIMATE, percent, signed } from "../format/units";
import { Name } from "../parts/name";
import { sourceAddress } from "../state/links";
import { partClass } from "../why/parts";

const FUNCTIONS = 5;

interface Scale {
  readonly low: number;
  readonly high: number;
}

/** The difference with its interval on one axis for all rows: filled is significant, hollow may be chance. */
export function Whisker(props: { f: Pick<ComparedFigure, "delta" | "low" | "high" | "isSignificant">; scale: Scale }) {
  const { f, scale } = props;
  if (f.low === undefined || f.high === undefined) return null;
  const place = (n: number) => Math.max(0, Math.min(100, ((n - scale.low) / (scale.high - scale.low || 1)) * 100));
  const at = (n: number) => `${String(place(n))}%`;
  const kind = f.isSignificant ? (f.delta > 0 ? "more-whisker" : "less-whisker") : "same-whisker";
  const wide = place(f.high) - place(f.low);
  return (
    <span class={`ci ${kind}`} aria-hidden="true">
      <i class="z" style={{ left: at(0) }} />
      <i class="r" style={{ left: at(f.low), width: `${String(wide)}%` }} />
      <i class="m" style={{ left: at(f.delta) }} />
    </span>
  );
}

/** What may be chance is grey. */
export function deltaClass(f: Pick<ComparedFigure, "delta" | "isSignificant">): string {
  return f.isSignificant ? (f.delta > 0 ? "more" : "less") : "f3";
}

function Figures(props: { f: ComparedFigure; share?: number; isEstimate?: boolean; scale: Scale }) {
  const { f } = props;
  const mark = props.isEstimate ? ESTIMATE : "";
  return (
    <>
      <td class="number">{mark + duration(f.left)}</td>
      <td class="number">{mark + duration(f.right)}</td>
      <td class="number">
        <b class={deltaClass(f)}>{mark + signed(duration(f.delta), f.delta)}</b>
      </td>
      <td class="number">{props.share === undefined ? "" : mark + percent(props.share)}</td>
      <td class="number">{f.low === undefined || f.high === undefined ? <span class="faint">too few spans</span> : `${mark}${signed(duration(f.low), f.low)} to ${mark}${signed(duration(f.high), f.high)}`}</td>
      <td class="ci-cell">
        <Whisker f={f} scale={props.scale} />
      </td>
      <td>{f.isSignificant ? <span class="chip acc">significant</span> : <span class="faint">may be chance</span>}</td>
    </>
  );
}

/** "order_service.c:156", a link where somebody said to where. */
function Place(props: { of: ComparedFunction }) {
  const { file = "", line = 0 } = props.of;
  if (file === "") return null;
  const words = `${file.slice(file.lastIndexOf("/") + 1)}${line > 0 ? `:${String(line)}` : ""}`;
  const href = sourceAddress({ function: props.of.function, file, line });
  return (
    <>
      {" "}
      {href === "" ? <bdi class="mono f3">{visible(words)}</bdi> : <a class="mono" href={href} target="_blank" rel="noopener noreferrer">{visible(words)}</a>}
    </>
  );
}

function Part(props: { part: ComparedPart; scale: Scale }) {
  const { part } = props;
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? part.functions : part.functions.slice(0, FUNCTIONS);
  const more = part.functions.length - shown.length;
  return (
    <>
      <tr>
        <th scope="row"><i class={`key ${partClass(part.part)}`} aria-hidden="true" /> {part.words}</th>
        <Figures f={part} share={part.share} isEstimate={part.isEstimate} scale={props.scale} />
      </tr>
      {shown.map((f) => (
        <tr key={f.function} class="inner">
          <td class="wide">
            <Name text={f.function} class="mono" />
            <Place of={f} />
          </td>
          <Figures f={f} isEstimate={part.isEstimate} scale={props.scale} />
        </tr>
      ))}
      {more > 0 && (
        <tr class="inner">
          <td colSpan={8}>
            <button type="button" class="plain" onClick={() => setWhole(true)}>
              {more} more in this part
            </button>
          </td>
        </tr>
      )}
      {isWhole && part.moreFunctions > 0 && (
        <tr class="inner">
          <td colSpan={8} class="faint">
            {part.moreFunctions} with smaller differences are not listed.
          </td>
        </tr>
      )}
    </>
  );
}

/** The parts add up to the duration, their differences to its difference. */
export function TimeParts(props: { time: ComparedTime; names: readonly [string, string] }) {
  const { time } = props;
  if (time.parts.length === 0) return time.reason === "" ? null : <p class="note warn">{said(time.reason)}</p>;
  const all = [time.duration, ...time.parts];
  const scale = { low: Math.min(0, ...all.map((f) => f.low ?? f.delta)), high: Math.max(0, ...all.map((f) => f.high ?? f.delta)) };
  return (
    <div class="panel" tabIndex={0} role="region" aria-label="Time per span" data-parts>
      <table aria-label="Parts of the duration" class="time-parts">
        <thead>
          <tr>
            <th>Time per span</th>
            <th class="number">{props.names[0]}</th>
            <th class="number">{props.names[1]}</th>
            <th class="number">Difference</th>
            <th class="number" title="of the difference in duration">
              Of the difference
            </th>
            <th class="number" title="for all parts together">
              95 % interval
            </th>
            <th />
            <th />
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">duration</th>
            <Figures f={time.duration} scale={scale} />
          </tr>
          {time.parts.map((p) => (
            <Part key={p.part} part={p} scale={scale} />
          ))}
        </tbody>
      </table>
      {time.reason !== "" && <p class="note">{said(time.reason)}</p>}
    </div>
  );
}
