import { get } from "../api/client";
import type { Explain } from "../api/types";
import { useAsk } from "../api/use_ask";
import { visible } from "../format/safe_text";
import { hasSides, KEYS, type Deploy } from "../overview/use_deploys";
import { asked, type Range } from "../state/range";
import { Sentence } from "../why/sentence";
import { DeployFigures } from "./deploy_figures";

/** What a deploy changed, in a sentence with its significance. */
export function DeployVerdict(props: { deploy: Deploy; range: Range }) {
  const { deploy: d } = props;
  // The server tells versions apart by service.version; commits alone are compared by the page of before and after.
  const knows = d.key === KEYS[0] && d.against !== "";
  const q = { service: d.service, version: d.version, against: d.against, ...asked(props.range) };
  const answer = useAsk<Explain>(knows ? `verdict ${JSON.stringify(q)}` : "", (s) => get("/api/v1/explain", q, s));
  if (!d.isSeen) return <span class="f3 sm">reported, but not seen in spans or profiles yet</span>;
  if (d.key === "") return <span class="f3 sm">seen in profiles, not in spans</span>;
  if (!knows) return <span class="f3 sm">{hasSides(d) ? "told by its commit" : "the version before it is not known"}</span>;
  if (answer.error) return <span class="bad sm">failed: {visible(answer.error.message)}</span>;
  if (!answer.data) return <span class="faint">…</span>;
  const e = answer.data;
  const isSure = e.low_ns !== null && e.high_ns !== null && (e.low_ns > 0 || e.high_ns < 0);
  return (
    <span class="verdict">
      <span class={isSure ? (e.duration_ns > 0 ? "chip bad" : "chip good") : "chip"}>{isSure ? (e.duration_ns > 0 ? "slower" : "faster") : e.low_ns === null ? "too little data" : "may be chance"}</span>{" "}
      <Sentence text={e.sentence || e.reason} parts={e.parts} />
      <DeployFigures deploy={d} range={props.range} explain={e} />
    </span>
  );
}
