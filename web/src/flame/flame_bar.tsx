import type { ComponentChildren, Ref } from "preact";
import { share, type Measure } from "../format/units";
import { Icon } from "../parts/icon";
import { Popover } from "../parts/popover";
import type { Base } from "./base";
import type { DiffBy } from "./colors";
import type { Change, FlameState, Mode } from "./flame_state";
import type { Matches } from "./search";

const MODES: readonly (readonly [Mode, string])[] = [
  ["graph", "Graph"],
  ["table", "Table"],
  ["calls", "Tree"],
];

const TIMED: readonly (readonly [Mode, string])[] = [["time", "Time"]];

interface Props {
  state: FlameState;
  icicle: boolean;
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
  onExport: (format: string) => void;
  note: string;
  /** Before the views: what the graph is of */
  before?: ComponentChildren;
  /** What shares may be of, and which of these they are of; none: there are no shares */
  bases: readonly (Base & { text: string })[];
  base: string;
}

function Menu(props: Props) {
  const { state, change } = props;
  const { look } = state;
  return (
    <div class="menu-list">
      <label>
        Bars stand for
        <select aria-label="Bars stand for" value={look.group} onChange={(e) => change({ g: e.currentTarget.value === "function" ? "" : e.currentTarget.value, z: "", o: "" })}>
          <option value="function">functions</option>
          <option value="line">lines</option>
          <option value="package">packages</option>
          <option value="file">files</option>
        </select>
      </label>
      <label>
        Fold
        <select aria-label="Fold" value={look.fold} onChange={(e) => change({ f: e.currentTarget.value, z: "", o: "" })}>
          <option value="">nothing</option>
          <option value="kernel">kernel</option>
          <option value="library">libraries</option>
        </select>
      </label>
      {props.bases.length > 1 && (
        <label>
          Percent of
          <select aria-label="Percent of" value={props.base} onChange={(e) => change({ b: e.currentTarget.value === props.bases[0]?.name ? "" : e.currentTarget.value })}>
            {props.bases.map((b) => (
              <option key={b.name} value={b.name}>
                {b.words} ({b.text})
              </option>
            ))}
          </select>
        </label>
      )}
      {props.threads > 0 && (
        <label>
          Order
          <select
            aria-label="Order"
            title="Largest callee first, or in order of time"
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
        </label>
      )}
      {props.diffBy && (
        <label>
          Difference
          <select aria-label="Difference" title="What widths and colours show" value={props.diffBy} onChange={(e) => change({ d: e.currentTarget.value })}>
            <option value="absolute">absolute change</option>
            <option value="relative">relative change</option>
            {props.hasRequests && <option value="request">per request</option>}
          </select>
        </label>
      )}
      <label class="check" title="A function that calls itself becomes one bar">
        no recursion <input type="checkbox" checked={look.collapse} onChange={(e) => change({ r: e.currentTarget.checked ? "1" : "", z: "", o: "" })} />
      </label>
      <label class="check" title="The root at the top">
        icicle <input type="checkbox" checked={props.icicle} onChange={(e) => change({ i: e.currentTarget.checked ? "1" : "0" })} />
      </label>
      <label class="check" title="Both at once">
        graph and table <input type="checkbox" checked={state.mode === "both"} onChange={(e) => change({ v: e.currentTarget.checked ? "both" : "" })} />
      </label>
      <label>
        Export
        <select
          aria-label="Export"
          value=""
          onChange={(e) => {
            props.onExport(e.currentTarget.value);
            e.currentTarget.value = "";
          }}
        >
          <option value="">as…</option>
          <option value="png">PNG</option>
          <option value="svg">SVG</option>
          <option value="folded">folded text</option>
          <option value="pprof">pprof</option>
          <option value="speedscope">speedscope</option>
        </select>
      </label>
    </div>
  );
}

/** "% of 500 ms": what 100 % is, and what else it may be. */
function BaseChoice(props: Props) {
  const now = props.bases.find((b) => b.name === props.base);
  if (!now) return null;
  if (props.bases.length === 1) return <span class="f3 sm nw opt">% of {now.text}</span>;
  return (
    <Popover label={`Percent of ${now.words}, ${now.text}`} panel="Percent of" class="plain sm f2 nw base-choice" title="What 100 % is" button={<>% of {now.text} ▾</>}>
      {(close) => (
        <div class="menu-list">
          {props.bases.map((b, i) => (
            <button
              type="button"
              key={b.name}
              aria-pressed={b.name === props.base}
              onClick={() => {
                close();
                props.change({ b: i === 0 ? "" : b.name });
              }}
            >
              {b.words} <span class="faint">{b.text}</span>
            </button>
          ))}
        </div>
      )}
    </Popover>
  );
}

/** Everything above the bars, in one row: what is rare stands in the menu. */
export function FlameBar(props: Props) {
  const { state, change } = props;
  return (
    <div class="flame-bar" role="toolbar" aria-label="Flame graph">
      {props.before}
      <span class="seg" role="group" aria-label="View">
        {[...MODES, ...(props.threads > 0 ? TIMED : [])].map(([m, title]) => (
          <button type="button" key={m} aria-pressed={state.mode === m || (m === "graph" && state.mode === "both")} onClick={() => change({ v: m === "graph" ? "" : m })}>
            {title}
          </button>
        ))}
        {state.mode === "sandwich" && (
          <button type="button" aria-pressed={true} onClick={() => change({ v: "", w: "" })} title="Back to the graph">
            Sandwich ✕
          </button>
        )}
      </span>
      {state.focus !== "" && (
        <button type="button" class="btn s" onClick={() => change({ x: "", z: "" })} title={state.focus}>
          Focus ✕
        </button>
      )}
      {state.look.hide.length > 0 && (
        <button type="button" class="btn s" onClick={() => change({ h: "", z: "" })}>
          Show {state.look.hide.length} hidden
        </button>
      )}
      {props.isZoomed && (
        <button type="button" class="btn s" onClick={props.onAll}>
          Show all
        </button>
      )}
      <span class="spring" />
      {props.matches ? (
        <span class="sm f2 nw said" title={`${String(props.matches.nodes)} matches, ${share(props.matches.share, props.measure)} through them`} role="status">
          {props.matches.nodes} matches, {share(props.matches.share, props.measure)} through them
        </span>
      ) : (
        <BaseChoice {...props} />
      )}
      <input
        ref={props.input}
        type="search"
        class="filter"
        placeholder="Find"
        title="A regular expression; press / in the graph to get here"
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
      <Popover label="More of the graph" panel="More of the graph" class="btn icon s" button={<Icon name="more" />}>
        {() => <Menu {...props} />}
      </Popover>
      {props.note !== "" && <span role="status" class="sm">{props.note}</span>}
    </div>
  );
}
