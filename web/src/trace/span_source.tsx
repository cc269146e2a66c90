// Source view of a span: its functions with the highest self time, each with the cost of its lines.

import { useMemo } from "preact/hooks";
import { get } from "../api/client";
import type { Span, SpanProfile } from "../api/types";
import { useAsk } from "../api/use_ask";
import { LineCosts, linesOf } from "../flame/line_costs";
import { treeOf, type Tree } from "../flame/tree";
import { said, visible } from "../format/safe_text";
import { amount } from "../format/units";
import { AskedFrame, Empty } from "../parts/states";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";

const MOST = 12;

/** Functions that have line numbers, by descending self time. */
export function sourceFunctions(t: Tree): { name: string; self: number }[] {
  const by = new Map<string, number>();
  for (let i = 1; i < t.n; i++) {
    const f = t.frames[t.frame[i] ?? -1];
    if (f && (f.file ?? "") !== "" && (t.self[i] ?? 0) > 0) by.set(f.function, (by.get(f.function) ?? 0) + (t.self[i] ?? 0));
  }
  return [...by].map(([name, self]) => ({ name, self })).sort((a, b) => b.self - a.self);
}

export function SpanSource(props: { traceId: string; span: Span }) {
  const { traceId, span } = props;
  const url = useUrl();
  const path = `/api/v1/spans/${traceId}/${span.spanId}/profile`;
  const asked = useAsk<SpanProfile>(`source of ${path}`, (s) => get(path, {}, s));
  const data = asked.data?.spanId === span.spanId ? asked.data : undefined;
  const tree = useMemo(() => (data ? treeOf(data.profile) : undefined), [data]);
  const all = useMemo(() => (tree ? sourceFunctions(tree).filter((f) => linesOf(tree.sources ?? [], f.name).length > 0) : []), [tree]);
  const name = all.find((f) => f.name === url["fn"])?.name ?? all[0]?.name ?? "";
  return (
    <AskedFrame what="the source" asked={{ ...asked, data }}>
      {(p) =>
        tree && name !== "" ? (
          <div class="span-source">
            <label class="row pad-x">
              Function
              <select aria-label="Function" value={name} onChange={(e) => change({ fn: e.currentTarget.value })}>
                {all.slice(0, MOST).map((f) => (
                  <option key={f.name} value={f.name}>
                    {visible(f.name)}, {amount(f.self, tree.measure)} by itself
                  </option>
                ))}
              </select>
            </label>
            {all.length > MOST && <p class="note pad-x">{all.length - MOST} cheaper functions are not listed.</p>}
            <LineCosts tree={tree} name={name} service={span.service} />
          </div>
        ) : (
          <Empty>
            <p>{p.profile.total > 0 ? "The samples of this span have no file names or lines." : "This span has no samples."}</p>
            {p.reason !== "" && <p class="note">{said(p.reason)}</p>}
          </Empty>
        )
      }
    </AskedFrame>
  );
}
