import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { visible } from "../format/safe_text";
import { amount, share } from "../format/units";
import type { DiffBy } from "./colors";
import { depthAt, draw, ROW, windowOf, type View } from "./draw";
import type { Matches } from "./search";
import { Tooltip } from "./tooltip";
import { nameOf, nodeUnder, type Tree } from "./tree";

export interface CanvasProps {
  tree: Tree;
  zoom: number;
  onZoom: (node: number) => void;
  onPick?: (node: number) => void;
  onMenu?: (node: number, x: number, y: number) => void;
  icicle: boolean;
  matches: Matches | undefined;
  /** The function chosen in a table beside it */
  picked?: string;
  diffBy: DiffBy;
  label: string;
  /** Everything there is, when the tree shows a part */
  whole: number;
}

function colorsOf(box: Element): { back: string; faded: string; outline: string } {
  const style = getComputedStyle(box);
  return { back: style.getPropertyValue("--panel"), faded: style.getPropertyValue("--soft"), outline: style.getPropertyValue("--ink") };
}

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

export function FlameCanvas(props: CanvasProps) {
  const { tree, zoom, icicle } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [hover, setHover] = useState({ node: -1, x: 0, y: 0 });
  const [selected, setSelected] = useState(-1);
  const [themed, setThemed] = useState(0);
  const scroll = useRef(0);
  const atRoot = useRef(true);
  const marked = useMemo(() => (props.picked ? Uint8Array.from(tree.frames, (f) => (f.function === props.picked ? 1 : 0)) : undefined), [tree, props.picked]);
  const contentHeight = (tree.maxDepth + 1) * ROW;
  // A small graph stands right below what belongs to it, not at the far end of a large screen.
  const height = Math.min(size.height, contentHeight);

  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const watch = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    watch.observe(element);
    const repaint = () => setThemed((n) => n + 1);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    addEventListener("themechange", repaint);
    dark.addEventListener("change", repaint);
    return () => {
      watch.disconnect();
      removeEventListener("themechange", repaint);
      dark.removeEventListener("change", repaint);
    };
  }, []);

  const view = useCallback(
    (): View => ({
      node: zoom,
      icicle,
      width: size.width,
      height,
      contentHeight,
      scroll: scroll.current,
      hover: hover.node,
      selected,
      matches: props.matches,
      marked,
      diffBy: props.diffBy,
      ...(box.current ? colorsOf(box.current) : { back: "#fff", faded: "#eee", outline: "#000" }),
    }),
    [zoom, icicle, size, contentHeight, hover.node, selected, props.matches, marked, props.diffBy],
  );

  const paint = useCallback(() => {
    const c = canvas.current;
    const g = c?.getContext("2d");
    if (!c || !g || size.width === 0) return;
    const ratio = devicePixelRatio || 1;
    const w = Math.round(size.width * ratio);
    const h = Math.round(height * ratio);
    if (c.width !== w || c.height !== h) {
      c.width = w;
      c.height = h;
    }
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    const began = performance.now();
    const bars = draw(g, tree, view());
    c.dataset["bars"] = String(bars);
    c.dataset["nodes"] = String(tree.n);
    c.dataset["zoom"] = nameOf(tree, zoom);
    c.dataset["ms"] = (performance.now() - began).toFixed(2);
  }, [tree, view, size]);

  useLayoutEffect(paint, [paint, themed]);
  // The root is where one begins to read: at the bottom of a flame, at the top of an icicle. It stays in sight when the
  // space around changes, unless somebody scrolled away from it.
  const toRoot = () => {
    const element = box.current;
    if (!element) return;
    element.scrollTop = icicle ? 0 : element.scrollHeight;
    scroll.current = element.scrollTop;
    atRoot.current = true;
    paint();
  };
  useLayoutEffect(toRoot, [tree, icicle, contentHeight]);
  useLayoutEffect(() => {
    if (atRoot.current) toRoot();
  }, [height]);
  useEffect(() => {
    setSelected(-1);
    setHover({ node: -1, x: 0, y: 0 });
  }, [tree]);

  const nodeAt = (e: MouseEvent): number => {
    const r = canvas.current?.getBoundingClientRect();
    if (!r) return -1;
    const depth = depthAt(e.clientY - r.top, { icicle, contentHeight, scroll: scroll.current });
    if (depth < 0) return -1;
    const zoomDepth = tree.depth[zoom] ?? 0;
    if (depth <= zoomDepth) {
      let up = zoom;
      while ((tree.depth[up] ?? 0) > depth) up = tree.parent[up] ?? 0;
      return up;
    }
    const { left, scale } = windowOf(tree, zoom, size.width);
    return scale > 0 ? nodeUnder(tree, left + (e.clientX - r.left) / scale, depth) : -1;
  };

  const reveal = (node: number) => {
    const element = box.current;
    if (!element) return;
    const top = icicle ? (tree.depth[node] ?? 0) * ROW : contentHeight - ((tree.depth[node] ?? 0) + 1) * ROW;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + ROW > element.scrollTop + height) element.scrollTop = top + ROW - height;
  };

  useEffect(() => reveal(zoom), [zoom]);

  const onKey = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const from = selected >= 0 ? selected : zoom;
    if (e.key.startsWith("Arrow")) {
      const to = selected < 0 ? zoom : neighbour(tree, from, e.key, icicle);
      setSelected(to);
      props.onPick?.(to);
      reveal(to);
    } else if (e.key === "Enter" || e.key === " ") props.onZoom(from);
    else if (e.key === "Escape" || e.key === "Backspace") props.onZoom(e.key === "Escape" ? 0 : (tree.parent[zoom] ?? 0));
    else if (e.key === "ContextMenu" || e.key === "m") {
      const r = canvas.current?.getBoundingClientRect();
      props.onMenu?.(from, (r?.left ?? 0) + 40, (r?.top ?? 0) + 40);
    } else return;
    e.preventDefault();
  };

  const told = selected >= 0 ? selected : zoom;
  return (
    <div
      class="flame-scroll"
      ref={box}
      onScroll={(e) => {
        const { scrollTop } = e.currentTarget;
        scroll.current = scrollTop;
        if (size.height === 0) return;
        // By the size that was drawn: the element may have shrunk since, which is no scrolling away.
        atRoot.current = icicle ? scrollTop < 2 : scrollTop + height > contentHeight - 2;
        paint();
      }}
    >
      <div class="flame-tall" style={{ height: `${String(contentHeight)}px` }}>
        <canvas
          ref={canvas}
          class="flame-canvas"
          style={{ width: `${String(size.width)}px`, height: `${String(height)}px` }}
          tabIndex={0}
          role="application"
          aria-roledescription="flame graph"
          aria-label={`${props.label}. Arrows move, Enter zooms, Escape shows all. The table shows the same.`}
          onMouseMove={(e) => setHover({ node: nodeAt(e), x: e.clientX, y: e.clientY })}
          onMouseLeave={() => setHover({ node: -1, x: 0, y: 0 })}
          onClick={(e) => {
            const node = nodeAt(e);
            if (node < 0) return;
            setSelected(node);
            props.onPick?.(node);
            props.onZoom(node);
          }}
          onContextMenu={(e) => {
            const node = nodeAt(e);
            if (node < 0 || !props.onMenu) return;
            e.preventDefault();
            setSelected(node);
            props.onMenu(node, e.clientX, e.clientY);
          }}
          onKeyDown={onKey}
        />
      </div>
      <div class="off-screen" aria-live="polite">
        {selected >= 0 &&
          `${visible(nameOf(tree, told))}: ${amount(tree.total[told] ?? 0, tree.measure)}, ${share((tree.size[told] ?? 0) / (tree.size[0] || 1), tree.measure)} of all`}
      </div>
      {hover.node >= 0 && <Tooltip tree={tree} node={hover.node} zoom={zoom} whole={props.whole} x={hover.x} y={hover.y} />}
    </div>
  );
}
