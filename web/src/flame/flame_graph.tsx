// A flame graph with everything around it: search, views, looks, export. Its state is in the address, under "f…" keys.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Query } from "../api/client";
import { visible } from "../format/safe_text";
import { percent } from "../format/units";
import { copyText } from "../parts/copy_button";
import { change as changeUrl, type Params } from "../state/url";
import { useUrl } from "../state/use_url";
import { CallTree, type Base } from "./call_tree";
import type { DiffBy } from "./colors";
import { folded, save, saveFromServer, svg } from "./export";
import { FlameCanvas } from "./flame_canvas";
import { FlameHelp, FlameMenu, sourceAddress } from "./flame_menu";
import { search, widest } from "./search";
import { TopTable } from "./top_table";
import { sandwich, transform, type Fold, type Group, type Look } from "./transform";
import { nameOf, nodeAtPlace, placeOf, stackOf, type Tree } from "./tree";

export interface FlameProps {
  tree: Tree;
  label: string;
  bases?: readonly Base[];
  /** Where the server writes the same in other formats */
  server?: { path: string; query: Query };
  /** Nodes were cut: the value is not hidden, but its stacks are */
  isCut?: boolean;
  /** Asks for what was cut below a stack */
  onDeeper?: (stack: string[]) => void;
  /** Of the keys in the address, where two graphs stand side by side */
  prefix?: string;
}

type Mode = "graph" | "both" | "table" | "calls" | "sandwich";
const MODES: readonly (readonly [Mode, string])[] = [
  ["graph", "Graph"],
  ["both", "Graph and table"],
  ["table", "Table"],
  ["calls", "Call tree"],
];

function modeOf(text: string | undefined): Mode {
  return text === "both" || text === "table" || text === "calls" || text === "sandwich" ? text : "graph";
}

/** The keys of one graph, without what tells it from another. */
function keysOf(all: Params, prefix: string): Params {
  const out: Record<string, string> = {};
  for (const [k, v] of Object.entries(all)) if (k.length === prefix.length + 1 && k.startsWith(prefix)) out[k.slice(prefix.length)] = v;
  return out;
}

function withPrefix(some: Readonly<Record<string, string | undefined>>, prefix: string): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(some).map(([k, v]) => [prefix + k, v]));
}

export function FlameGraph(props: FlameProps) {
  const all = useUrl();
  const prefix = props.prefix ?? "f";
  const url = useMemo(() => keysOf(all, prefix), [all, prefix]);
  const change = useCallback((some: Readonly<Record<string, string | undefined>>, replace = false) => changeUrl(withPrefix(some, prefix), replace), [prefix]);
  const mode = modeOf(url["v"]);
  const icicle = url["i"] === "1";
  const text = url["s"] ?? "";
  const hide = url["h"] ?? "";
  const look = useMemo(
    (): Look => ({
      group: (url["g"] === "package" || url["g"] === "file" ? url["g"] : "function") as Group,
      fold: (url["f"] === "kernel" || url["f"] === "library" ? url["f"] : "") as Fold,
      collapse: url["r"] === "1",
      hide: hide === "" ? [] : hide.split("\n"),
    }),
    [url["g"], url["f"], url["r"], hide],
  );
  const tree = useMemo(() => transform(props.tree, look), [props.tree, look]);
  const zoom = useMemo(() => nodeAtPlace(tree, url["z"] ?? ""), [tree, url["z"]]);
  const matches = useMemo(() => search(tree, text), [tree, text]);
  const diffBy: DiffBy = url["d"] === "relative" ? "relative" : "absolute";
  const focus = url["w"] ?? "";
  const sides = useMemo(() => (mode === "sandwich" && focus !== "" ? sandwich(tree, focus) : undefined), [tree, mode, focus]);
  const [picked, setPicked] = useState("");
  const [menu, setMenu] = useState<{ node: number; x: number; y: number }>();
  const [help, setHelp] = useState(false);
  const [note, setNote] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);

  const onZoom = useCallback((node: number) => change({ z: placeOf(tree, node) }), [tree, change]);
  const pickName = useCallback(
    (name: string) => {
      setPicked(name);
      const node = widest(tree, name);
      if (node >= 0 && mode === "both") onZoom(node);
    },
    [tree, mode, onZoom],
  );
  useEffect(() => {
    if (note === "") return undefined;
    const timer = setTimeout(() => setNote(""), 2500);
    return () => clearTimeout(timer);
  }, [note]);

  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey || (e.target instanceof Element && e.target.closest("input,textarea,select,dialog"))) return;
      const modes: Readonly<Record<string, Mode>> = { "1": "graph", "2": "both", "3": "table", "4": "calls" };
      if (e.key === "/") input.current?.focus();
      else if (e.key === "?") setHelp(true);
      else if (modes[e.key]) change({ v: modes[e.key] === "graph" ? "" : modes[e.key] });
      else if (e.key === "i") change({ i: icicle ? "" : "1" });
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
    else if (props.server) void saveFromServer(props.server.path, props.server.query, format).catch(failed);
  };

  const onMenu = (what: string) => {
    if (!menu) return;
    const name = nameOf(tree, menu.node);
    setMenu(undefined);
    if (what === "zoom") onZoom(menu.node);
    else if (what === "sandwich") change({ v: "sandwich", w: name, z: "" });
    else if (what === "hide") change({ h: [...look.hide, name].join("\n"), z: "" });
    else if (what === "search") change({ s: `^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$` });
    else if (what === "source") open(sourceAddress(tree.frames[tree.frame[menu.node] ?? -1]), "_blank", "noopener");
    else {
      const words = what === "stack" ? stackOf(tree, menu.node).join("\n") : name;
      void copyText(words).then((ok) => setNote(ok ? "Copied." : "The browser did not allow copying."));
    }
  };

  const canvas = (t: Tree, label: string, at = 0, zoomTo?: (n: number) => void, up = icicle) => (
    <FlameCanvas
      tree={t}
      zoom={at}
      onZoom={zoomTo ?? (() => undefined)}
      onPick={(n) => setPicked(nameOf(t, n))}
      {...(t === tree ? { onMenu: (node: number, x: number, y: number) => setMenu({ node, x, y }) } : {})}
      icicle={up}
      matches={t === tree ? matches : undefined}
      diffBy={diffBy}
      label={label}
      whole={props.tree.total[0] ?? 0}
    />
  );

  return (
    <div class="flame" ref={box}>
      <div class="flame-bar row" role="toolbar" aria-label="Flame graph">
        <input
          ref={input}
          type="search"
          placeholder="Search: regular expression ( / )"
          aria-label="Search functions"
          value={text}
          onInput={(e) => change({ s: e.currentTarget.value }, true)}
          onKeyDown={(e) => {
            if (e.key !== "Escape" && e.key !== "Enter") return;
            if (e.key === "Escape") change({ s: "" }, true);
            box.current?.querySelector<HTMLElement>("canvas, .flame-table")?.focus();
            e.preventDefault();
          }}
        />
        {matches && (
          <span class="match" role="status">
            {matches.nodes} matches, {percent(matches.share)} through them
          </span>
        )}
        <span class="segment" role="group" aria-label="View">
          {MODES.map(([m, title]) => (
            <button type="button" key={m} aria-pressed={mode === m} onClick={() => change({ v: m === "graph" ? "" : m })}>
              {title}
            </button>
          ))}
          {mode === "sandwich" && (
            <button type="button" aria-pressed={true} onClick={() => change({ v: "", w: "" })} title="Back to the graph">
              Sandwich ✕
            </button>
          )}
        </span>
        <select aria-label="Bars stand for" value={look.group} onChange={(e) => change({ g: e.currentTarget.value === "function" ? "" : e.currentTarget.value, z: "" })}>
          <option value="function">functions</option>
          <option value="package">packages</option>
          <option value="file">files</option>
        </select>
        <select aria-label="Fold" value={look.fold} onChange={(e) => change({ f: e.currentTarget.value, z: "" })}>
          <option value="">fold nothing</option>
          <option value="kernel">fold kernel</option>
          <option value="library">fold libraries</option>
        </select>
        <label class="check" title="A function that calls itself becomes one bar">
          <input type="checkbox" checked={look.collapse} onChange={(e) => change({ r: e.currentTarget.checked ? "1" : "", z: "" })} /> no recursion
        </label>
        <label class="check" title="The root at the top">
          <input type="checkbox" checked={icicle} onChange={(e) => change({ i: e.currentTarget.checked ? "1" : "" })} /> icicle
        </label>
        {tree.otherTotal && (
          <select aria-label="Colours by" value={diffBy} onChange={(e) => change({ d: e.currentTarget.value === "absolute" ? "" : e.currentTarget.value })}>
            <option value="absolute">absolute change</option>
            <option value="relative">relative change</option>
          </select>
        )}
        {look.hide.length > 0 && (
          <button type="button" onClick={() => change({ h: "", z: "" })}>
            Show {look.hide.length} hidden
          </button>
        )}
        {zoom > 0 && (
          <button type="button" onClick={() => onZoom(0)}>
            Show all
          </button>
        )}
        <select
          aria-label="Export"
          value=""
          onChange={(e) => {
            exportAs(e.currentTarget.value);
            e.currentTarget.value = "";
          }}
        >
          <option value="">Export…</option>
          <option value="png">PNG</option>
          <option value="svg">SVG</option>
          <option value="folded">folded text</option>
          {props.server && <option value="pprof">pprof</option>}
          {props.server && <option value="speedscope">speedscope</option>}
        </select>
        <button type="button" aria-label="Help" title="Keys ( ? )" onClick={() => setHelp(true)}>
          ?
        </button>
        {note !== "" && <span role="status">{note}</span>}
      </div>
      {tree.otherTotal && <DiffLegend />}
      {props.isCut && (
        <p class="note warn row">
          Small branches were summed up as “other”; their value is counted.
          {props.onDeeper && zoom > 0 && (
            <button type="button" onClick={() => props.onDeeper?.(stackOf(tree, zoom))}>
              Load everything below {visible(nameOf(tree, zoom))}
            </button>
          )}
        </p>
      )}
      <div class={`flame-body ${mode}`}>
        {mode === "sandwich" && sides ? (
          <>
            {canvas(sides.callers, `Callers of ${visible(focus)}`, 0, undefined, false)}
            <p class="sandwich-name">
              Above: who calls <bdi>{visible(focus)}</bdi>. Below: what it calls.
            </p>
            {canvas(sides.callees, `Callees of ${visible(focus)}`, 0, undefined, true)}
          </>
        ) : (
          <>
            {(mode === "both" || mode === "table") && <TopTable tree={tree} search={text} selected={picked} onPick={pickName} />}
            {mode === "calls" && <CallTree tree={tree} bases={props.bases ?? []} selected={picked} onPick={setPicked} />}
            {(mode === "graph" || mode === "both") && canvas(tree, props.label, zoom, onZoom)}
          </>
        )}
      </div>
      {menu && <FlameMenu x={menu.x} y={menu.y} frame={tree.frames[tree.frame[menu.node] ?? -1]} onDo={onMenu} onClose={() => setMenu(undefined)} />}
      {help && <FlameHelp onClose={() => setHelp(false)} />}
    </div>
  );
}

function DiffLegend() {
  return (
    <p class="legend">
      <span class="swatch only-left" /> only in the baseline <span class="swatch less" /> less <span class="swatch same" /> same <span class="swatch more" /> more{" "}
      <span class="swatch only-right" /> only in the comparison
    </p>
  );
}
