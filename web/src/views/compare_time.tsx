// The whole duration of two sets of spans, part by part, with the functions and child spans in each part.

import { useState } from "preact/hooks";
import type { ComparedFigure, ComparedPart, ComparedTime } from "../api/types";
import { visible } from "../format/safe_text";
import { duration, ESTIMATE, percent, signed } from "../format/units";
import { Name } from "../parts/name";

const FUNCTIONS = 5;

function Figures(props: { f: ComparedFigure; share?: number; isEstimate?: boolean }) {
  const { f } = props;
  const mark = props.isEstimate ? ESTIMATE : "";
  return (
    <>
      <td class="number">{mark + duration(f.left)}</td>
      <td class="number">{mark + duration(f.right)}</td>
      <td class="number">
        <b class={f.delta > 0 ? "more" : "less"}>{mark + signed(duration(f.delta), f.delta)}</b>
      </td>
      <td class="number">{props.share === undefined ? "" : mark + percent(props.share)}</td>
      <td class="number">{f.low === undefined || f.high === undefined ? <span class="faint">too few spans</span> : `${mark}${duration(f.low)} to ${mark}${duration(f.high)}`}</td>
      <td>{f.isSignificant ? <span class="tag">significant</span> : <span class="faint">not significant</span>}</td>
    </>
  );
}

function Part(props: { part: ComparedPart }) {
  const { part } = props;
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? part.functions : part.functions.slice(0, FUNCTIONS);
  const more = part.functions.length - shown.length;
  return (
    <>
      <tr>
        <th scope="row">{part.words}</th>
        <Figures f={part} share={part.share} isEstimate={part.isEstimate} />
      </tr>
      {shown.map((f) => (
        <tr key={f.function} class="inner">
          <td class="wide">
            <Name text={f.function} class="mono" />
          </td>
          <Figures f={f} isEstimate={part.isEstimate} />
        </tr>
      ))}
      {more > 0 && (
        <tr class="inner">
          <td colSpan={7}>
            <button type="button" class="plain" onClick={() => setWhole(true)}>
              {more} more in this part
            </button>
          </td>
        </tr>
      )}
      {isWhole && part.moreFunctions > 0 && (
        <tr class="inner">
          <td colSpan={7} class="faint">
            {part.moreFunctions} with smaller differences are not listed.
          </td>
        </tr>
      )}
    </>
  );
}

/** The parts add up to the duration, their differences to its difference. */
export function TimeParts(props: { time: ComparedTime }) {
  const { time } = props;
  if (time.parts.length === 0) return time.reason === "" ? null : <p class="note warn">{visible(time.reason)}</p>;
  return (
    <div class="panel table-part" tabIndex={0} role="region" aria-label="Time per span">
      <table aria-label="Parts of the duration" class="time-parts">
        <thead>
          <tr>
            <th>Time per span</th>
            <th class="number">Baseline</th>
            <th class="number">Comparison</th>
            <th class="number">Difference</th>
            <th class="number" title="of the difference in duration">
              Of the difference
            </th>
            <th class="number" title="for all parts together">
              95 % interval
            </th>
            <th />
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">duration</th>
            <Figures f={time.duration} />
          </tr>
          {time.parts.map((p) => (
            <Part key={p.part} part={p} />
          ))}
        </tbody>
      </table>
      {time.reason !== "" && <p class="note">{visible(time.reason)}</p>}
    </div>
  );
}
