// Why a set of spans is slow, or a version slower than the one before: the sentence, and the spans that show it best.

import type { Explain } from "../api/types";
import { markdownCommand, markdownText, said, visible } from "../format/safe_text";
import { countOf, duration } from "../format/units";
import { CopyButton } from "../parts/copy_button";
import { ViewLink } from "../parts/link";
import type { Asked } from "../api/use_ask";
import { Sentence } from "./sentence";

interface Shown {
  trace: string;
  span: string;
  duration_ns: number;
}

const BEST = 3;

/** What is copied, for an issue or a chat. */
export function answerOf(e: Explain): string {
  return `${markdownText(e.sentence)}\n\n${markdownCommand(e.evidence.command)}`;
}

export function SetWhy(props: { asked: Asked<Explain> }) {
  const { asked } = props;
  if (asked.error)
    return (
      <div class="card pad bad" role="alert">
        The explanation could not be loaded: {visible(asked.error.message)}{" "}
        <button type="button" class="btn s" onClick={asked.again}>
          Try again
        </button>
      </div>
    );
  const e = asked.data;
  if (!e)
    return (
      <div class="card why" aria-busy="true">
        <p class="says f3">{asked.isSlow ? "Still working…" : "…"}</p>
      </div>
    );
  const best = (e.evidence.spans as Shown[]).slice(0, BEST);
  const isSure = e.low_ns !== null && e.high_ns !== null && (e.low_ns > 0 || e.high_ns < 0);
  return (
    <div class="card why">
      <p class="says" data-answer>
        <Sentence text={(e.sentence || e.reason).replace(/^slow spans/, "Slow spans")} parts={e.parts} />
      </p>
      <div class="meta">
        {e.of === "difference" && <span class={isSure ? (e.duration_ns > 0 ? "chip bad" : "chip good") : "chip"}>{isSure ? "Significant, 95 %" : e.low_ns === null ? "Too little data" : "May be chance"}</span>}
        <span>{countOf(e.spans, "span")}</span>
        {best.length > 0 && <span>Best examples:</span>}
        {best.map((s) => (
          <ViewLink key={s.span} to={{ view: "trace", id: s.trace, span: s.span, pane: "why" }} class="link">
            {duration(s.duration_ns)}
          </ViewLink>
        ))}
        <CopyButton text={answerOf(e)} label="Copy the answer" />
      </div>
      {e.note !== "" && <p class="note">{said(e.note)}</p>}
      {e.sentence !== "" && !e.sentence.includes(e.reason) && <p class="note">{said(e.reason)}</p>}
    </div>
  );
}
