// Who calls whom, as a picture: top-down in a card, left to right on a page of its own.

import { useMemo, useState } from "preact/hooks";
import { get } from "../api/client";
import type { Service } from "../api/types";
import { useAsk, type Asked } from "../api/use_ask";
import { serviceColor } from "../format/color";
import { ellipsis, visible } from "../format/safe_text";
import { duration, ESTIMATE, percent, rate } from "../format/units";
import type { Range } from "../state/range";
import { goTo, params, within } from "../state/url";
import { layoutOf, type Call, type Place } from "./map_layout";

export type MapBy = "time" | "rate" | "errors";
const W = 118;
const H = 42;

export function useCalls(range: Range): Asked<readonly Call[]> {
  const q = { endTs: String(Math.ceil(range.untilMs)), lookback: String(Math.ceil(range.untilMs - range.fromMs)) };
  return useAsk<readonly Call[]>(`calls ${JSON.stringify(q)}`, async (s) => {
    const a = await get<{ data: Call[] | null }>("/api/dependencies", q, s);
    return { data: a.data.data ?? [], partial: a.partial };
  });
}

/** Time of the callee's requests as a share of the caller's; calls at once make it more than there is. */
export function timeShare(call: Call, of: ReadonlyMap<string, Service>): number | undefined {
  const parent = of.get(call.parent)?.requests;
  const child = of.get(call.child)?.requests;
  if (!parent || !child || !(parent.meanNs > 0) || parent.count === 0) return undefined;
  return (call.callCount * child.meanNs) / (parent.count * parent.meanNs);
}

/** A quantile is an estimate; of no request there is none. */
export function p95Words(r: Service["requests"] | undefined): string {
  return r && r.count > 0 ? `${ESTIMATE}${duration(r.p95Ns)}` : "";
}

/** What a service's box says of it. */
export function nodeWords(r: Service["requests"] | undefined, by: MapBy): string {
  if (!r) return "no spans";
  if (r.count === 0) return "no requests enter it";
  return by === "errors" ? `${percent(r.errorShare)} failed` : `${p95Words(r)} · ${rate(r.ratePerSecond)}`;
}

export function callWords(call: Call, by: MapBy, of: ReadonlyMap<string, Service>, seconds: number): string {
  if (by === "rate") return rate(call.callCount / seconds);
  const child = of.get(call.child)?.requests;
  if (by === "errors") return child && child.count > 0 ? percent(child.errorShare) : "";
  const share = timeShare(call, of);
  return share === undefined ? "" : `${ESTIMATE}${percent(share)}`;
}

export function ServiceMap(props: { calls: readonly Call[]; services: readonly Service[]; slower: ReadonlySet<string>; by: MapBy; range: Range; down: boolean; names?: readonly string[] }) {
  const { calls, by, down } = props;
  const [hover, setHover] = useState("");
  const of = useMemo(() => new Map(props.services.map((s) => [s.service, s])), [props.services]);
  const layout = useMemo(() => layoutOf(props.names ?? [], calls), [props.names, calls]);
  const seconds = Math.max(1, (props.range.untilMs - props.range.fromMs) / 1e3);
  const gapAcross = down ? 18 : 16;
  const gapAlong = down ? 46 : 96;
  const across = (down ? W : H) + gapAcross;
  const wide = Math.max(1, layout.widest) * across - gapAcross;
  const rows = new Map<number, number>();
  for (const p of layout.places) rows.set(p.layer, Math.max(rows.get(p.layer) ?? 0, p.at + 1));
  const spot = (p: Place) => {
    const n = rows.get(p.layer) ?? 1;
    const a = (wide - (n * across - gapAcross)) / 2 + p.at * across;
    const l = p.layer * ((down ? H : W) + gapAlong);
    return down ? { x: a + 4, y: l + 4 } : { x: l + 4, y: a + 4 };
  };
  const size = { w: (down ? wide : layout.layers * (W + gapAlong) - gapAlong) + 8, h: (down ? layout.layers * (H + gapAlong) - gapAlong : wide) + 8 };
  const places = new Map(layout.places.map((p) => [p.name, spot(p)]));
  const most = Math.max(1, ...calls.map((c) => c.callCount));
  const touches = (c: Call) => hover === "" || c.parent === hover || c.child === hover;
  const isNear = (name: string) => hover === "" || name === hover || calls.some((c) => touches(c) && (c.parent === name || c.child === name));
  return (
    <svg class="map" viewBox={`0 0 ${String(size.w)} ${String(size.h)}`} width={size.w} height={size.h} role="group" aria-label={`Service map: ${String(layout.places.length)} services, ${String(calls.length)} calls`}>
      {calls.map((c) => {
        const a = places.get(c.parent);
        const b = places.get(c.child);
        if (!a || !b || c.parent === c.child) return null;
        const slower = props.slower.has(c.child);
        const failed = by === "errors" && (of.get(c.child)?.requests.errorShare ?? 0) > 0;
        const [x0, y0, x1, y1] = down ? [a.x + W / 2, a.y + H, b.x + W / 2, b.y] : [a.x + W, a.y + H / 2, b.x, b.y + H / 2];
        const path = down ? `M${String(x0)} ${String(y0)}C${String(x0)} ${String((y0 + y1) / 2)} ${String(x1)} ${String((y0 + y1) / 2)} ${String(x1)} ${String(y1 - 5)}` : `M${String(x0)} ${String(y0)}C${String((x0 + x1) / 2)} ${String(y0)} ${String((x0 + x1) / 2)} ${String(y1)} ${String(x1 - 5)} ${String(y1)}`;
        const width = by === "time" ? Math.min(5, 1 + 4 * Math.min(1, timeShare(c, of) ?? 0)) : 1 + 3 * (c.callCount / most);
        const words = callWords(c, by, of, seconds);
        const q = `{ resource.service.name = ${JSON.stringify(c.parent)} } >> { resource.service.name = ${JSON.stringify(c.child)} }`;
        const color = (by === "time" && slower) || failed ? "var(--bad)" : "var(--ink-3)";
        return (
          <g key={`${c.parent}\0${c.child}`} class="map-call" opacity={touches(c) ? 1 : 0.15} onClick={() => goTo(within(params(), { view: "search", q }))}>
            <title>{`${visible(c.parent)} calls ${visible(c.child)} ${rate(c.callCount / seconds)}${words === "" ? "" : `, ${words}${by === "time" ? " of its time" : ""}`}. Click for the traces.`}</title>
            <path d={path} fill="none" stroke="transparent" stroke-width="12" />
            <path d={path} fill="none" stroke={color} stroke-width={width.toFixed(1)} />
            <path d={down ? `M${String(x1 - 4)} ${String(y1 - 7)}h8l-4 7z` : `M${String(x1 - 7)} ${String(y1 - 4)}v8l7-4z`} fill={color} />
            <text x={(x0 + x1) / 2 + (down ? 6 : 0)} y={(y0 + y1) / 2 + (down ? 3 : -5)} class="map-words" text-anchor={down ? "start" : "middle"}>
              {words}
            </text>
          </g>
        );
      })}
      {layout.places.map((p) => {
        const at = places.get(p.name) ?? { x: 0, y: 0 };
        const r = of.get(p.name)?.requests;
        const href = within(params(), { view: "service", service: p.name });
        return (
          <a
            key={p.name}
            href={href}
            style={{ opacity: isNear(p.name) ? "1" : "0.3" }}
            onMouseEnter={() => setHover(p.name)}
            onMouseLeave={() => setHover("")}
            onFocus={() => setHover(p.name)}
            onBlur={() => setHover("")}
            onClick={(e) => {
              if (e.ctrlKey || e.metaKey || e.shiftKey) return;
              e.preventDefault();
              goTo(href);
            }}
          >
            <rect x={at.x} y={at.y} width={W} height={H} rx="6" class={r ? "map-node" : "map-node none"} />
            <rect x={at.x} y={at.y + 8} width="3" height={H - 16} rx="1.5" style={{ fill: serviceColor(p.name) }} />
            <text x={at.x + 10} y={at.y + 18} class="map-name">
              {ellipsis(visible(p.name), 17)}
            </text>
            <text x={at.x + 10} y={at.y + 33} class="map-words">
              {nodeWords(r, by)}
            </text>
          </a>
        );
      })}
    </svg>
  );
}

export const MAP_WORDS: readonly (readonly [MapBy, string])[] = [
  ["time", "Time"],
  ["rate", "Rate"],
  ["errors", "Errors"],
];
