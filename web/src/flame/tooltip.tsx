import { useMemo } from "preact/hooks";
import { visible } from "../format/safe_text";
import { amount, ESTIMATE, percent, share, signed } from "../format/units";
import { BreakdownBar, inOrder, partClass } from "../why/parts";
import { partsBelow } from "./compose";
import { nameOf, type Tree } from "./tree";

export function placeText(f: { file?: string; line?: number; module?: string } | undefined): string {
  if (!f) return "";
  const file = f.file ? `${f.file}${f.line ? `:${String(f.line)}` : ""}` : "";
  return [file, f.module ?? ""].filter((s) => s !== "").join(" in ");
}

function Difference(props: { tree: Tree; node: number }) {
  const { tree: t, node } = props;
  const a = t.total[node] ?? 0;
  const b = t.otherTotal?.[node] ?? 0;
  const d = b - a;
  return (
    <>
      <dt>baseline</dt>
      <dd>{amount(a, t.measure)}</dd>
      <dt>comparison</dt>
      <dd>{amount(b, t.measure)}</dd>
      <dt>difference</dt>
      <dd>
        {signed(amount(d, t.measure), d)}
        {a > 0 && b > 0 ? ` (${signed(percent(d / a), d)})` : a > 0 ? ", only in the baseline" : ", only in the comparison"}
      </dd>
    </>
  );
}

export function Tooltip(props: { tree: Tree; node: number; zoom: number; whole: number; wholeWords: string; x: number; y: number }) {
  const { tree: t, node } = props;
  const frame = t.frames[t.frame[node] ?? -1];
  const place = placeText(frame);
  const parts = useMemo(() => inOrder(partsBelow(t, node) ?? []), [t, node]);
  const right = props.x > innerWidth - 380;
  const low = props.y > innerHeight - 180;
  return (
    <div
      class="tooltip"
      role="tooltip"
      style={{
        left: right ? "auto" : `${String(props.x + 14)}px`,
        right: right ? `${String(innerWidth - props.x + 14)}px` : "auto",
        top: low ? "auto" : `${String(props.y + 16)}px`,
        bottom: low ? `${String(innerHeight - props.y + 10)}px` : "auto",
      }}
    >
      <bdi class="tooltip-name">{visible(nameOf(t, node))}</bdi>
      {t.measure.isEstimate && <span class="tooltip-place">{ESTIMATE} estimate: other spans share these samples</span>}
      {place !== "" && <bdi class="tooltip-place">{visible(place)}</bdi>}
      {frame?.debugPackage !== undefined && (
        <bdi class="tooltip-place">Names are in its debug package (Debian: likely {visible(frame.debugPackage)}); upload it with spanflame symbols upload</bdi>
      )}
      {parts.length > 0 && <BreakdownBar parts={parts} whole={t.total[node] ?? 0} />}
      {!t.otherTotal && parts.length === 0 && (
        <span class="tip-bar" aria-hidden="true">
          <i style={{ width: `${String(Math.min(100, ((t.total[node] ?? 0) / (props.whole || 1)) * 100))}%` }} />
        </span>
      )}
      <dl>
        {t.otherTotal ? (
          <Difference tree={t} node={node} />
        ) : parts.length > 0 ? (
          <>
            <dt>of {props.wholeWords === "all" ? "everything" : props.wholeWords}</dt>
            <dd>
              <b>{amount(t.total[node] ?? 0, t.measure)}</b> {share((t.total[node] ?? 0) / (props.whole || 1), t.measure)}
            </dd>
            {parts.map((p) => (
              <>
                <dt key={p.part}>
                  <i class={`key ${partClass(p.part)}`} aria-hidden="true" /> {visible(p.words)}
                </dt>
                <dd>
                  {amount(p.ns, t.measure)} {share(p.ns / (props.whole || 1), t.measure)}
                </dd>
              </>
            ))}
          </>
        ) : (
          <>
            <dt>total</dt>
            <dd>{amount(t.total[node] ?? 0, t.measure)}</dd>
            <dt>self</dt>
            <dd>{amount(t.self[node] ?? 0, t.measure)}</dd>
            <dt>of this view</dt>
            <dd>{share((t.total[node] ?? 0) / (t.total[props.zoom] || 1), t.measure)}</dd>
            <dt>of {props.wholeWords === "all" ? "everything" : props.wholeWords}</dt>
            <dd>{share((t.total[node] ?? 0) / (props.whole || 1), t.measure)}</dd>
          </>
        )}
      </dl>
      <span class="tooltip-place">Click zooms, right click for more</span>
    </div>
  );
}
