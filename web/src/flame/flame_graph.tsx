// A flame graph with everything around it: search, views, looks, export. Its state is in the address, under "f…" keys.

import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Query } from "../api/client";
import { visible } from "../format/safe_text";
import { percent } from "../format/units";
import { copyText } from "../parts/copy_button";
import { change } from "../state/url";
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

export function FlameGraph(props: FlameProps) {
  const url = useUrl();
  const mode = modeOf(url["fv"]);
  const icicle = url["fi"] === "1";
  const text = url["fs"] ?? "";
  const hide = url["fh"] ?? "";
  const look = useMemo(
    (): Look => ({
      group: (url["fg"] === "package" || url["fg"] === "file" ? url["fg"] : "function") as Group,
      fold: (url["ff"] === "kernel" || url["ff"] === "library" ? url["ff"] : "") as Fold,
      collapse: url["fr"] === "1",
      hide: hide === "" ? [] : hide.split("\n"),
    }),
    [url["fg"], url["ff"], url["fr"], hide],
  );
  const tree = useMemo(() => transform(props.tree, look), [props.tree, look]);
  const zoom = useMemo(() => nodeAtPlace(tree, url["fz"] ?? ""), [tree, url["fz"]]);
  const matches = useMemo(() => search(tree, text), [tree, text]);
  const diffBy: DiffBy = url["fd"] === "relative" ? "relative" : "absolute";
  const focus = url["fw"] ?? "";
  const sides = useMemo(() => (mode === "sandwich" && focus !== "" ? sandwich(tree, focus) : undefined), [tree, mode, focus]);
  const [picked, setPicked] = useState("");
  const [menu, setMenu] = useState<{ node: number; x: number; y: number }>();
  const [help, setHelp] = useState(false);
  const [note, setNote] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const input = useRef<HTMLInputElement>(null);

  const onZoom = useCallback((node: number) => change({ fz: placeOf(tree, node) }), [tree]);
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
      else if (modes[e.key]) change({ fv: modes[e.key] === "graph" ? "" : modes[e.key] });
      else if (e.key === "i") change({ fi: icicle ? "" : "1" });
      else return;
      e.preventDefault();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [icicle]);

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
    else if (what === "sandwich") change({ fv: "sandwich", fw: name, fz: "" });
    else if (what === "hide") change({ fh: [...look.hide, name].join("\n"), fz: "" });
    else if (what === "search") change({ fs: `^${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$` });
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
          onInput={(e) => change({ fs: e.currentTarget.value }, true)}
          onKeyDown={(e) => e.key === "Escape" && change({ fs: "" }, true)}
        />
        {matches && (
          <span class="match" role="status">
            {matches.nodes} matches, {percent(matches.share)} through them
          </span>
        )}
        <span class="segment" role="group" aria-label="View">
          {MODES.map(([m, title]) => (
            <button type="button" key={m} aria-pressed={mode === m} onClick={() => change({ fv: m === "graph" ? "" : m })}>
              {title}
            </button>
          ))}
          {mode === "sandwich" && (
            <button type="button" aria-pressed={true} onClick={() => change({ fv: "", fw: "" })} title="Back to the graph">
              Sandwich ✕
            </button>
          )}
        </span>
        <select aria-label="Bars stand for" value={look.group} onChange={(e) => change({ fg: e.currentTarget.value === "function" ? "" : e.currentTarget.value, fz: "" })}>
          <option value="function">functions</option>
          <option value="package">packages</option>
          <option value="file">files</option>
        </select>
        <select aria-label="Fold" value={look.fold} onChange={(e) => change({ ff: e.currentTarget.value, fz: "" })}>
          <option value="">fold nothing</option>
          <option value="kernel">fold kernel</option>
          <option value="library">fold libraries</option>
        </select>
        <label class="check" title="A function that calls itself becomes one bar">
          <input type="checkbox" checked={look.collapse} onChange={(e) => change({ fr: e.currentTarget.checked ? "1" : "", fz: "" })} /> no recursion
        </label>
        <label class="check" title="The root at the top">
          <input type="checkbox" checked={icicle} onChange={(e) => change({ fi: e.currentTarget.checked ? "1" : "" })} /> icicle
        </label>
        {tree.otherTotal && (
          <select aria-label="Colours by" value={diffBy} onChange={(e) => change({ fd: e.currentTarget.value === "absolute" ? "" : e.currentTarget.value })}>
            <option value="absolute">absolute change</option>
            <option value="relative">relative change</option>
          </select>
        )}
        {look.hide.length > 0 && (
          <button type="button" onClick={() => change({ fh: "", fz: "" })}>
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
      {props.isCut && <p class="note warn">Small branches were summed up as “other”; their value is counted.</p>}
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
