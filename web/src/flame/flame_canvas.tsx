import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { visible } from "../format/safe_text";
import { amount, share } from "../format/units";
import { token } from "../state/palette";
import type { DiffBy } from "./colors";
import { depthAt, draw, placeOnCanvas, ROW, windowOf, type View } from "./draw";
import type { Matches } from "./search";
import { placeText, Tooltip } from "./tooltip";
import { nameOf, nodeUnder, type Tree } from "./tree";

export interface CanvasProps {
  tree: Tree;
  zoom: number;
  onZoom: (node: number) => void;
  onPick?: (node: number) => void;
  onMenu?: (node: number, x: number, y: number) => void;
  icicle: boolean;
  /** Rows at the root that are not drawn */
  skip?: number;
  matches: Matches | undefined;
  /** The function chosen in a table beside it */
  picked?: string;
  diffBy: DiffBy;
  label: string;
  /** Everything there is, when the tree shows a part */
  whole: number;
  /** What everything is: "the span" */
  wholeWords?: string;
  /** The graph is taller than its room */
  onDeep?: () => void;
}

const TIP_MS = 120;

/** Where an arrow key leads: to a caller, a callee, or the bar beside. */
function neighbour(t: Tree, node: number, key: string, icicle: boolean): number {
  const toChild = icicle ? "ArrowDown" : "ArrowUp";
  const toParent = icicle ? "ArrowUp" : "ArrowDown";
  if (key === toChild) return Math.max(t.first[node] ?? -1, 0) || node;
  if (key === toParent) return t.parent[node] ?? 0;
  if (key === "ArrowRight") {
    const n = t.next[node] ?? -1;
    return n >= 0 ? n : node;
  }
  let before = node;
  for (let c = t.first[t.parent[node] ?? 0] ?? -1; c >= 0 && c !== node; c = t.next[c] ?? -1) before = c;
  return before;
}

/** The bar that costs most by itself. */
function hottestOf(t: Tree): number {
  let [best, most] = [0, 0];
  for (let i = 1; i < t.n; i++) {
    const own = (t.self[i] ?? 0) + (t.otherSelf?.[i] ?? 0);
    if (own > most) [best, most] = [i, own];
  }
  return best;
}

/** A bar in words: name, amount, shares, place. */
export function barWords(t: Tree, node: number, whole: number, wholeWords: string): string {
  const self = t.self[node] ?? 0;
  const total = t.total[node] ?? 0;
  if (t.otherTotal) return `${visible(nameOf(t, node))}: ${amount(total, t.measure)} before, ${amount(t.otherTotal[node] ?? 0, t.measure)} after`;
  const parts = [`${visible(nameOf(t, node))} ${amount(total, t.measure)}`, `${share(total / (whole || 1), t.measure)} of ${wholeWords}`];
  if (self > 0 && self < total) parts.push(`${amount(self, t.measure)} by itself`);
  const place = placeText(t.frames[t.frame[node] ?? -1]);
  return `${parts.join(", ")}${place === "" ? "" : ` · ${visible(place)}`}`;
}

export function FlameCanvas(props: CanvasProps) {
  const { tree, zoom, icicle } = props;
  const skip = props.skip ?? 0;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const status = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [tip, setTip] = useState({ node: -1, x: 0, y: 0 });
  const [themed, setThemed] = useState(0);
  const hover = useRef(-1);
  const selected = useRef(-1);
  const tipTimer = useRef(0);
  const scroll = useRef(0);
  /** Where the graph was opened, and whether it still is there */
  const start = useRef(0);
  const atStart = useRef(true);
  const hot = useMemo(() => hottestOf(tree), [tree]);
  const picked = props.picked ?? "";
  const contentHeight = (tree.maxDepth + 1 - skip) * ROW;
  // A small graph stands right below what belongs to it, not at the far end of a large screen.
  const height = Math.min(size.height, contentHeight);
  const wholeWords = props.wholeWords ?? "all";

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const watch = new ResizeObserver(() => setSize((s) => (s.width === element.clientWidth && s.height === element.clientHeight ? s : { width: element.clientWidth, height: element.clientHeight })));
    watch.observe(element);
    const repaint = () => setThemed((n) => n + 1);
    addEventListener("themechange", repaint);
    return () => {
      watch.disconnect();
      clearTimeout(tipTimer.current);
      removeEventListener("themechange", repaint);
    };
  }, []);

  const rows = () => ({ node: zoom, icicle, width: size.width, height, contentHeight, scroll: scroll.current, skip });

  /** What is chosen and under the pointer: a few lines over a graph that stays as it is. */
  const mark = useCallback(() => {
    const c = over.current;
    const g = c?.getContext("2d");
    if (!c || !g || size.width === 0) return;
    const ratio = devicePixelRatio || 1;
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, size.width, height);
    g.strokeStyle = token("ink");
    for (const [node, line] of [[hover.current, 1], [selected.current, 2]] as const) {
      const p = placeOnCanvas(tree, node, rows());
      if (!p) continue;
      g.lineWidth = line;
      g.strokeRect(p.x + line / 2, p.y + line / 2, Math.max(p.w - 1 - line, 1), ROW - 1 - line);
    }
  }, [tree, zoom, icicle, size, height, contentHeight, skip]);

  const tell = useCallback(() => {
    if (!status.current) return;
    const node = hover.current >= 0 ? hover.current : selected.current >= 0 ? selected.current : zoom;
    status.current.textContent = barWords(tree, node, props.whole, wholeWords);
  }, [tree, zoom, props.whole, wholeWords]);

  const paint = useCallback(() => {
    const c = canvas.current;
    const o = over.current;
    const g = c?.getContext("2d");
    if (!c || !o || !g || size.width === 0) return;
    const ratio = devicePixelRatio || 1;
    const w = Math.round(size.width * ratio);
    const h = Math.round(height * ratio);
    for (const one of [c, o])
      if (one.width !== w || one.height !== h) {
        one.width = w;
        one.height = h;
      }
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const began = performance.now();
    const v: View = { ...rows(), matches: props.matches, picked, diffBy: props.diffBy, back: token("fl-gap"), faded: token("sunken"), outline: token("ink") };
    c.dataset["bars"] = String(draw(g, tree, v));
    c.dataset["nodes"] = String(tree.n);
    c.dataset["zoom"] = nameOf(tree, zoom);
    c.dataset["ms"] = (performance.now() - began).toFixed(2);
    mark();
    tell();
  }, [tree, zoom, icicle, size, height, contentHeight, skip, props.matches, picked, props.diffBy, mark, tell]);

  useLayoutEffect(paint, [paint, themed]);
  const reveal = (node: number) => {
    const element = box.current;
    if (!element) return;
    const row = (tree.depth[node] ?? 0) - skip;
    const top = icicle ? row * ROW : contentHeight - (row + 1) * ROW;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + ROW > element.scrollTop + height) element.scrollTop = top + ROW - height;
  };
  // The root is where one begins to read: at the bottom of a flame, at the top of an icicle. Where it and what costs most
  // do not fit, the latter is seen. It stays so when the space around changes, unless somebody scrolled away.
  const toStart = () => {
    const element = box.current;
    if (!element) return;
    element.scrollTop = icicle ? 0 : element.scrollHeight;
    reveal(hot);
    start.current = scroll.current = element.scrollTop;
    atStart.current = true;
    paint();
  };
  useLayoutEffect(toStart, [tree, icicle, contentHeight]);
  useLayoutEffect(() => {
    if (atStart.current) toStart();
  }, [height]);
  const { onDeep } = props;
  useEffect(() => {
    if (size.height > 0 && contentHeight > size.height + ROW / 2) onDeep?.();
  }, [tree, size.height, contentHeight, onDeep]);
  useEffect(() => {
    selected.current = -1;
    hover.current = -1;
    setTip({ node: -1, x: 0, y: 0 });
    mark();
    tell();
  }, [tree]);

  const nodeAt = (e: MouseEvent): number => {
    const r = canvas.current?.getBoundingClientRect();
    if (!r) return -1;
    const depth = depthAt(e.clientY - r.top, { icicle, contentHeight, scroll: scroll.current, skip });
    if (depth < skip) return -1;
    const zoomDepth = tree.depth[zoom] ?? 0;
    if (depth <= zoomDepth) {
      let up = zoom;
      while ((tree.depth[up] ?? 0) > depth) up = tree.parent[up] ?? 0;
      return up;
    }
    const { left, scale } = windowOf(tree, zoom, size.width);
    return scale > 0 ? nodeUnder(tree, left + (e.clientX - r.left) / scale, depth) : -1;
  };

  useEffect(() => reveal(zoom), [zoom]);

  const pick = (node: number) => {
    selected.current = node;
    props.onPick?.(node);
    mark();
    tell();
  };
  const point = (node: number, x: number, y: number) => {
    if (node !== hover.current) {
      hover.current = node;
      mark();
      tell();
      clearTimeout(tipTimer.current);
      if (tip.node >= 0) setTip({ node: -1, x: 0, y: 0 });
      if (node >= 0) tipTimer.current = setTimeout(() => setTip({ node, x, y }), TIP_MS) as unknown as number;
    }
  };

  const onKey = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const from = selected.current >= 0 ? selected.current : zoom;
    if (e.key.startsWith("Arrow")) {
      const to = selected.current < 0 ? zoom : neighbour(tree, from, e.key, icicle);
      pick(to);
      reveal(to);
    } else if (e.key === "Enter" || e.key === " ") props.onZoom(from);
    else if (e.key === "Escape" || e.key === "Backspace") props.onZoom(e.key === "Escape" ? 0 : (tree.parent[zoom] ?? 0));
    else if (e.key === "ContextMenu" || e.key === "m") {
      const r = canvas.current?.getBoundingClientRect();
      props.onMenu?.(from, (r?.left ?? 0) + 40, (r?.top ?? 0) + 40);
    } else return;
    e.preventDefault();
    e.stopPropagation();
  };

  return (
    <div class="flame-one">
      <div
        class="flame-scroll"
        ref={box}
        onScroll={(e) => {
          const { scrollTop } = e.currentTarget;
          scroll.current = scrollTop;
          if (size.height === 0) return;
          // An element that has another size than what was drawn was not scrolled by anybody.
          if (e.currentTarget.clientHeight === size.height) atStart.current = Math.abs(scrollTop - start.current) < 2;
          paint();
        }}
      >
        <div class="flame-tall" style={{ height: `${String(contentHeight)}px` }}>
          <div class="flame-stick" style={{ height: `${String(height)}px` }}>
            <canvas
              ref={canvas}
              class="flame-canvas"
              style={{ width: `${String(size.width)}px`, height: `${String(height)}px` }}
              tabIndex={0}
              role="application"
              aria-roledescription="flame graph"
              aria-label={`${props.label}. Arrows move, Enter zooms, Escape shows all. The table shows the same.`}
              onMouseMove={(e) => point(nodeAt(e), e.clientX, e.clientY)}
              onMouseLeave={() => point(-1, 0, 0)}
              onClick={(e) => {
                const node = nodeAt(e);
                if (node < 0) return;
                pick(node);
                props.onZoom(node);
              }}
              onContextMenu={(e) => {
                const node = nodeAt(e);
                if (node < 0 || !props.onMenu) return;
                e.preventDefault();
                pick(node);
                props.onMenu(node, e.clientX, e.clientY);
              }}
              onKeyDown={onKey}
            />
            <canvas ref={over} class="flame-over" aria-hidden="true" style={{ width: `${String(size.width)}px`, height: `${String(height)}px` }} />
          </div>
        </div>
        {tip.node >= 0 && <Tooltip tree={tree} node={tip.node} zoom={zoom} whole={props.whole} wholeWords={wholeWords} x={tip.x} y={tip.y} />}
      </div>
      <div class="flame-status" role="status" ref={status} />
    </div>
  );
}
