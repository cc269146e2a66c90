import type { Clock } from "../api/types";
import { duration } from "../format/units";

/** What was done about one pair of clocks, as a sentence. */
export function clockWords(c: Clock): string {
  if (c.isContradictory) return `The clocks of ${c.service} and ${c.caller} contradict each other: no one difference fits all calls, so each is moved by itself.`;
  const least = c.slackNs === null ? "at least " : "";
  const slack = c.slackNs ? `, to within ${duration(c.slackNs)}` : "";
  return `The clock of ${c.service} is ${least}${duration(Math.abs(c.offsetNs))} ${c.offsetNs > 0 ? "ahead of" : "behind"} that of ${c.caller}${slack}: its spans are drawn corrected.`;
}

export function ClockNotes(props: { clocks: Clock[] | undefined; more: number | undefined }) {
  return (
    <>
      {(props.clocks ?? []).map((c, i) => <p key={i} class="note">{clockWords(c)}</p>)}
      {(props.more ?? 0) > 0 && <p class="note">… and {props.more} more calls between hosts whose clocks were corrected.</p>}
    </>
  );
}
