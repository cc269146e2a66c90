import { useState } from "preact/hooks";
import { visible } from "../format/safe_text";
import { Popover } from "../parts/popover";
import { EXAMPLES, recentQueries, saveQuery, savedQueries } from "./queries";

function List(props: { words: string; of: readonly string[]; onRun: (q: string) => void }) {
  if (props.of.length === 0) return null;
  return (
    <>
      <h3>{props.words}</h3>
      {props.of.map((q) => (
        <button type="button" key={q} title={visible(q)} onClick={() => props.onRun(q)}>
          <span class="name mono">{visible(q)}</span>
        </button>
      ))}
    </>
  );
}

/** Queries that were run and kept, and a star for the one that is there. */
export function QueryLists(props: { q: string; onRun: (q: string) => void }) {
  const [, turn] = useState(0);
  const isSaved = savedQueries().includes(props.q);
  return (
    <>
      <Popover label="Queries: recent, saved, examples" panel="Queries" button="Queries">
        {(close) => {
          const run = (q: string) => {
            close();
            props.onRun(q);
          };
          return (
            <div class="menu-list">
              <List words="Saved" of={savedQueries()} onRun={run} />
              <List words="Recent" of={recentQueries()} onRun={run} />
              <List words="Examples" of={EXAMPLES.map(([, q]) => q)} onRun={run} />
            </div>
          );
        }}
      </Popover>
      <button
        type="button"
        class="btn"
        aria-pressed={isSaved}
        title={isSaved ? "Saved in this browser; click to forget it" : "Keep this query in this browser"}
        onClick={() => {
          saveQuery(props.q, !isSaved);
          turn((n) => n + 1);
        }}
      >
        {isSaved ? "Saved" : "Save"}
      </button>
    </>
  );
}

/** Where to begin, when nothing was asked yet. */
export function Examples(props: { onRun: (q: string) => void }) {
  return (
    <div class="row" role="group" aria-label="Examples">
      <span class="f3 sm">Try:</span>
      {EXAMPLES.map(([words, q]) => (
        <button type="button" class="chip acc" key={words} title={q} onClick={() => props.onRun(q)}>
          {words}
        </button>
      ))}
    </div>
  );
}
