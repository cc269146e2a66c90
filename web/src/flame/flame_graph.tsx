// A flame graph with everything around it: search, views, looks, export. Its state is in the address, under "f…" keys.

import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Query } from "../api/client";
import type { Profile } from "../api/types";
import { visible } from "../format/safe_text";
import { copyText } from "../parts/copy_button";
import { sourceAddress } from "../state/links";
import { goTo, params, within } from "../state/url";
import { baseAmount, basesOf, type Base } from "./base";
import { CallTree } from "./call_tree";
import type { DiffBy } from "./colors";
import { withoutStart } from "./compose";
import { folded, save, saveFromServer, svg } from "./export";
import { pprof, speedscope } from "./export_profile";
import { FlameBar } from "./flame_bar";
import { FlameCanvas } from "./flame_canvas";
import { FlameMenu } from "./flame_menu";
import { useFlameState, type Mode } from "./flame_state";
import { LineCosts } from "./line_costs";
import { search, widest } from "./search";
import { TimeLanes } from "./time_lanes";
import { TopTable } from "./top_table";
import { sandwich, through } from "./transform";
import { isOther, nameOf, placeOf, scaled, stackOf, timedOf, type Moment, type Tree } from "./tree";
import { useWhole, type Deeper, type Whole } from "./use_whole";

export interface FlameProps {
  tree: Tree;
  label: string;
  bases?: readonly Base[];
  /** Where the server writes the same in other formats */
  server?: { path: string; query: Query };
  /** Asks for what was cut below a stack; none: nothing was */
  deeper?: Deeper | undefined;
  /** Of the keys in the address, where two graphs stand side by side */
  prefix?: string;
  /** Of a difference: how many requests each side is of */
  requests?: { left: number; right: number } | undefined;
  /** What it shows unless the address says otherwise */
  diffBy?: DiffBy;
  /** Samples that have times, and the profile whose nodes they name */
  timeline?: { profile: Profile; moments: readonly Moment[]; wholeNs: number; names?: readonly string[] } | undefined;
  /** Whose spans a function's menu lists; none: of every service */
  service?: string;
  /** What stands before the views in the toolbar: what the graph is of */
  before?: ComponentChildren;
  /** What 100 % is: "the span" */
  wholeWords?: string;
  /** The root at the top, unless the address says otherwise */
  icicle?: boolean;
  /** Frames that start the thread may be left out */
  mayHideStart?: boolean;
  /** Somebody looks into the graph: what stands above may make space */
  onEnter?: () => void;
  /** The graph is taller than its room */
  onDeep?: () => void;
}

const MODE_KEYS: Readonly<Record<string, Mode>> = { "1": "graph", "2": "both", "3": "table", "4": "calls", "5": "time" };

function CutNote(props: { whole: Whole; name: string; onAll: () => void }) {
  const { whole } = props;
  if (whole.error) return <p class="note bad">Could not load collapsed frames: {visible(whole.error.message)}</p>;
  if (whole.isLoading) return <p class="note" role="status">Asking for what was summed up below {visible(props.name)}…</p>;
  if (!whole.isCut) return null;
  return (
    <p class="note warn row">
      Small branches are summed up as “other”; a click on one, or on what calls it, asks for them. Searches and tables see the rest.
      <button type="button" onClick={props.onAll}>
        Load everything
      </button>
    </p>
  );
}

export function FlameGraph(props: FlameProps) {
  const [state, change] = useFlameState(props.prefix ?? "f");
  const { search: text } = state;
  const icicle = state.icicle ?? props.icicle ?? false;
  const diffBy: DiffBy = state.diffBy === "request" && !props.requests ? "absolute" : (state.diffBy ?? props.diffBy ?? "absolute");
  const [all, setAll] = useState(false);
  const [menu, setMenu] = useState<{ tree: Tree; node: number; x: number; y: number }>();
  const [note, setNote] = useState("");
  const [lined, setLined] = useState("");
  const [walked, setWalked] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);

  const { timeline, requests } = props;
  const threads = useMemo(() => (timeline?.moments ?? []).reduce((n, m) => Math.max(n, m[4] + 1), 0), [timeline]);
  const mode: Mode = state.mode === "time" && threads === 0 ? "graph" : state.mode;
  const isTimed = state.isTimed && threads > 0;
  const full = useMemo(() => {
    if (isTimed && timeline) return timedOf(timeline.profile, timeline.moments, state.thread);
    if (diffBy === "request" && requests && props.tree.otherTotal) return scaled(props.tree, 1 / requests.left, 1 / requests.right);
    return props.tree;
  }, [props.tree, isTimed, timeline, state.thread, diffBy === "request", requests?.left, requests?.right]);
  const start = useMemo(() => (props.mayHideStart === true && !state.hasStart ? withoutStart(full) : { tree: full, rows: 0 }), [full, props.mayHideStart, state.hasStart]);
  const measured = start.tree;
  const { deeper: ask } = props;
  const deeper = useMemo<Deeper | undefined>(() => {
    if (!ask || isTimed) return undefined;
    if (diffBy !== "request" || !requests) return ask;
    return async (stack, signal) => {
      const a = await ask(stack, signal);
      return { ...a, data: scaled(a.data, 1 / requests.left, 1 / requests.right) };
    };
  }, [ask, isTimed, diffBy === "request", requests?.left, requests?.right]);
  const focused = useMemo(() => (state.focus === "" ? measured : through(measured, state.focus)), [measured, state.focus]);
  const whole = useWhole(focused, state.look, state.place, deeper, all);
  const { tree, zoom } = whole;
  const matches = useMemo(() => search(tree, text), [tree, text]);
  const sides = useMemo(() => (mode === "sandwich" && state.centre !== "" ? sandwich(tree, state.centre) : undefined), [tree, mode, state.centre]);
  const picked = walked === "" ? state.picked : walked;
  const bases = useMemo(() => basesOf(props.bases ?? [], props.wholeWords ?? "all", measured.total[0] ?? 0), [props.bases, props.wholeWords, measured]);
  const base = bases.find((b) => b.name === state.base) ?? bases[0] ?? { name: "", words: "all", value: 0 };

  const onZoom = useCallback(
    (node: number) => {
      // What was cut has no bars of its own: its caller is examined, and that requests it.
      const to = isOther(tree.frames[tree.frame[node] ?? -1]) ? (tree.parent[node] ?? 0) : node;
      if (to === 0 && node !== 0) setAll(true);
      change({ z: placeOf(tree, to) });
    },
    [tree, change],
  );
  const pickName = useCallback(
    (name: string) => {
      setWalked("");
      const node = mode === "both" ? widest(tree, name) : -1;
      change(node >= 0 ? { p: name, z: placeOf(tree, node) } : { p: name }, node < 0);
    },
    [tree, mode, change],
  );
  useEffect(() => {
    setAll(false);
    setLined("");
  }, [props.tree]);
  useEffect(() => {
    if (note === "") return undefined;
    const timer = setTimeout(() => setNote(""), 2500);
    return () => clearTimeout(timer);
  }, [note]);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey || (e.target instanceof Element && e.target.closest("input,textarea,select,dialog"))) return;
      const to = MODE_KEYS[e.key];
      const isInside = e.target instanceof Element && box.current?.contains(e.target) === true;
      if (e.key === "/" && isInside) input.current?.focus();
      else if (to) change({ v: to === "graph" ? "" : to });
      else if (e.key === "i") change({ i: icicle ? "0" : "1" });
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [icicle, change]);

  const exportAs = (format: string) => {
    const failed = (e: unknown) => setNote(e instanceof Error ? e.message : String(e));
    if (format === "png") {
      box.current?.querySelector("canvas")?.toBlob((b) => b && save(b, "flame.png"));
    } else if (format === "svg") save(new Blob([svg(tree, zoom, icicle, diffBy)], { type: "image/svg+xml" }), "flame.svg");
    else if (format === "folded") save(new Blob([folded(tree)], { type: "text/plain" }), "profile.folded.txt");
    else if (props.server && !tree.otherTotal) void saveFromServer(props.server.path, props.server.query, format).catch(failed);
    else if (format === "pprof") save(new Blob([pprof(tree)], { type: "application/octet-stream" }), "profile.pb");
    else save(new Blob([speedscope(tree)], { type: "application/json" }), "profile.speedscope.json");
  };

  const onMenu = (what: string) => {
    if (!menu) return;
    const name = nameOf(menu.tree, menu.node);
    const onGraph = menu.tree === tree;
    setMenu(undefined);
    if (what === "zoom") onZoom(onGraph ? menu.node : Math.max(0, widest(tree, name)));
    else if (what === "focus") change({ x: name, z: "" });
    else if (what === "sandwich") change({ v: "sandwich", w: name, z: "" });
    else if (what === "hide") change({ h: [...state.look.hide, name].join("\n"), z: "" });
    else if (what === "search") change({ s: `^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$` });
    else if (what === "lines" && props.tree.sources) setLined(name);
    else if (what === "spans") goTo(within(params(), { view: "spans", function: name, service: props.service }));
    else if (what === "source") open(sourceAddress(menu.tree.frames[menu.tree.frame[menu.node] ?? -1], props.service), "_blank", "noopener");
    else {
      const words = what === "stack" ? stackOf(menu.tree, menu.node).join("\n") : name;
      void copyText(words).then((ok) => setNote(ok ? "Copied." : "The browser did not allow copying."));
    }
  };

  const { onEnter } = props;
  const canvas = (t: Tree, label: string, at = 0, zoomTo?: (n: number) => void, up = icicle, skip = 0) => (
    <FlameCanvas
      tree={t}
      zoom={at}
      onZoom={(n) => {
        onEnter?.();
        zoomTo?.(n);
      }}
      onPick={(n) => setWalked(nameOf(t, n))}
      skip={skip}
      onMenu={(node, x, y) => setMenu({ tree: t, node, x, y })}
      icicle={up}
      matches={t === tree ? matches : search(t, text)}
      picked={picked}
      diffBy={diffBy}
      label={label}
      whole={base.value}
      wholeWords={base.words}
      {...(t === tree && props.onDeep ? { onDeep: props.onDeep } : {})}
    />
  );

  return (
    <div class="flame" ref={box}>
      <FlameBar
        state={{ ...state, mode, isTimed }}
        icicle={icicle}
        before={props.before}
        bases={tree.otherTotal ? [] : bases.map((b) => ({ ...b, text: baseAmount(b, measured.measure) }))}
        base={base.name}
        change={change}
        matches={matches && !tree.otherTotal ? { ...matches, share: (matches.share * (tree.total[0] ?? 0)) / (base.value || 1) } : matches}
        measure={tree.measure}
        input={input}
        onLeave={() => box.current?.querySelector<HTMLElement>("canvas, .flame-table")?.focus()}
        isZoomed={zoom > 0}
        onAll={() => onZoom(0)}
        diffBy={tree.otherTotal && diffBy}
        hasRequests={requests !== undefined}
        threads={threads}
        onExport={exportAs}
        note={note}
      />
      {tree.otherTotal && <DiffLegend isPerRequest={diffBy === "request"} />}
      <CutNote whole={whole} name={nameOf(tree, zoom)} onAll={() => setAll(true)} />
      <div class={`flame-body ${mode}`}>
        {mode === "sandwich" && sides ? (
          <>
            <p class="sandwich-name">
              Above: who calls <bdi>{visible(state.centre)}</bdi>. Below: what it calls.
            </p>
            {canvas(sides.callers, `Callers of ${visible(state.centre)}`, 0, undefined, false, 2)}
            {canvas(sides.callees, `Callees of ${visible(state.centre)}`, 0, undefined, true, 1)}
          </>
        ) : (
          <>
            {(mode === "both" || mode === "table") && <TopTable tree={tree} whole={base.value} search={text} selected={picked} onPick={pickName} />}
            {mode === "calls" && (
              <CallTree
                tree={tree}
                bases={bases}
                base={base}
                turned={state.turned}
                selected={picked}
                onBase={(b) => change({ b })}
                onTurned={(o) => change({ o })}
                onPick={pickName}
              />
            )}
            {mode === "time" && timeline && <TimeLanes {...timeline} whole={timeline.wholeNs} zoom={state.stretch} onZoom={(k) => change({ k })} search={text} label={props.label} />}
            {(mode === "graph" || mode === "both") && canvas(tree, props.label, zoom, onZoom)}
          </>
        )}
      </div>
      {menu && <FlameMenu x={menu.x} y={menu.y} frame={menu.tree.frames[menu.tree.frame[menu.node] ?? -1]} onDo={onMenu} onClose={() => setMenu(undefined)} />}
      {lined !== "" && props.tree.sources && <LineCosts tree={props.tree} name={lined} service={props.service ?? ""} onClose={() => setLined("")} />}
      {start.rows > 0 && mode === "graph" && lined === "" && (
        <p class="start-rows f3 sm">
          {start.rows} frames of thread start hidden{" "}
          <button type="button" class="plain link" onClick={() => change({ l: "1", z: "" })}>
            Show
          </button>
        </p>
      )}
    </div>
  );
}

function DiffLegend(props: { isPerRequest: boolean }) {
  return (
    <p class="legend diff-legend">
      {[["less-3", "− only in the baseline"], ["less-2", "less"], ["same", "same"], ["more-2", "more"], ["more-3", "+ only in the comparison"]].map(([name, words]) => (
        <span key={name}>
          <i class="key" style={{ background: `var(--${name ?? ""})` }} /> {words}
        </span>
      ))}
      {props.isPerRequest && <b>values are per request</b>}
    </p>
  );
}
