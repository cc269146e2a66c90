import type { Ref } from "preact";
import { share, type Measure } from "../format/units";
import type { DiffBy } from "./colors";
import type { Change, FlameState, Mode } from "./flame_state";
import type { Matches } from "./search";

const MODES: readonly (readonly [Mode, string])[] = [
  ["graph", "Graph"],
  ["both", "Graph and table"],
  ["table", "Table"],
  ["calls", "Call tree"],
];

interface Props {
  state: FlameState;
  change: Change;
  matches: Matches | undefined;
  measure: Measure;
  input: Ref<HTMLInputElement>;
  /** To where the search leads back */
  onLeave: () => void;
  isZoomed: boolean;
  onAll: () => void;
  /** Of a difference: what colours go by; undefined: it is none */
  diffBy: DiffBy | undefined;
  hasRequests: boolean;
  /** Threads whose samples have times; 0: none */
  threads: number;
  hasServer: boolean;
  onExport: (format: string) => void;
  onHelp: () => void;
  note: string;
}

function Looks(props: Props) {
  const { state, change } = props;
  const { look } = state;
  return (
    <>
      <select aria-label="Bars stand for" value={look.group} onChange={(e) => change({ g: e.currentTarget.value === "function" ? "" : e.currentTarget.value, z: "", o: "" })}>
        <option value="function">functions</option>
        <option value="line">lines</option>
        <option value="package">packages</option>
        <option value="file">files</option>
      </select>
      <select aria-label="Fold" value={look.fold} onChange={(e) => change({ f: e.currentTarget.value, z: "", o: "" })}>
        <option value="">fold nothing</option>
        <option value="kernel">fold kernel</option>
        <option value="library">fold libraries</option>
      </select>
      {props.threads > 0 && (
        <select
          aria-label="Order"
          title="Heaviest callee first, or as the samples came in time"
          value={state.isTimed ? String(state.thread) : ""}
          onChange={(e) => change({ c: e.currentTarget.value === "" ? "" : "1", n: e.currentTarget.value === "0" ? "" : e.currentTarget.value, z: "", o: "" })}
        >
          <option value="">left-heavy</option>
          {Array.from({ length: Math.min(props.threads, 64) }, (_, i) => (
            <option key={i} value={String(i)}>
              by time{props.threads > 1 ? `, thread ${String(i + 1)}` : ""}
            </option>
          ))}
        </select>
      )}
      <label class="check" title="A function that calls itself becomes one bar">
        <input type="checkbox" checked={look.collapse} onChange={(e) => change({ r: e.currentTarget.checked ? "1" : "", z: "", o: "" })} /> no recursion
      </label>
      <label class="check" title="The root at the top">
        <input type="checkbox" checked={state.icicle} onChange={(e) => change({ i: e.currentTarget.checked ? "1" : "" })} /> icicle
      </label>
    </>
  );
}

function Exports(props: Props) {
  return (
    <select
      aria-label="Export"
      value=""
      onChange={(e) => {
        props.onExport(e.currentTarget.value);
        e.currentTarget.value = "";
      }}
    >
      <option value="">Export…</option>
      <option value="png">PNG</option>
      <option value="svg">SVG</option>
      <option value="folded">folded text</option>
      {props.hasServer && <option value="pprof">pprof</option>}
      {props.hasServer && <option value="speedscope">speedscope</option>}
    </select>
  );
}

/** Everything above the bars. */
export function FlameBar(props: Props) {
  const { state, change } = props;
  return (
    <div class="flame-bar row" role="toolbar" aria-label="Flame graph">
      <input
        ref={props.input}
        type="search"
        placeholder="Search: regex ( / )"
        title="A regular expression; press / to get here"
        aria-label="Search functions"
        value={state.search}
        onInput={(e) => change({ s: e.currentTarget.value }, true)}
        onKeyDown={(e) => {
          if (e.key !== "Escape" && e.key !== "Enter") return;
          if (e.key === "Escape") change({ s: "" }, true);
          props.onLeave();
          e.preventDefault();
        }}
      />
      {props.matches && (
        <span class="match" role="status">
          {props.matches.nodes} matches, {share(props.matches.share, props.measure)} through them
        </span>
      )}
      <span class="segment" role="group" aria-label="View">
        {MODES.map(([m, title]) => (
          <button type="button" key={m} aria-pressed={state.mode === m} onClick={() => change({ v: m === "graph" ? "" : m })}>
            {title}
          </button>
        ))}
        {state.mode === "sandwich" && (
          <button type="button" aria-pressed={true} onClick={() => change({ v: "", w: "" })} title="Back to the graph">
            Sandwich ✕
          </button>
        )}
      </span>
      <Looks {...props} />
      {props.diffBy && (
        <select aria-label="Difference" title="What widths and colours show" value={props.diffBy} onChange={(e) => change({ d: e.currentTarget.value })}>
          <option value="absolute">absolute change</option>
          <option value="relative">relative change</option>
          {props.hasRequests && <option value="request">per request</option>}
        </select>
      )}
      {state.focus !== "" && (
        <button type="button" onClick={() => change({ x: "", z: "" })} title={state.focus}>
          Focus ✕
        </button>
      )}
      {state.look.hide.length > 0 && (
        <button type="button" onClick={() => change({ h: "", z: "" })}>
          Show {state.look.hide.length} hidden
        </button>
      )}
      {props.isZoomed && (
        <button type="button" onClick={props.onAll}>
          Show all
        </button>
      )}
      <Exports {...props} />
      <button type="button" aria-label="Help" title="Keys ( ? )" onClick={props.onHelp}>
        ?
      </button>
      {props.note !== "" && <span role="status">{props.note}</span>}
    </div>
  );
}
