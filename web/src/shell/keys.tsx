import { useEffect, useRef, useState } from "preact/hooks";
import { goTo, params, within } from "../state/url";

const GO: Readonly<Record<string, string>> = { s: "overview", t: "search", p: "profiles", c: "compare", f: "findings", d: "deploys", m: "map", v: "coverage" };

const KEYS: readonly (readonly [string, readonly (readonly [string, string])[]])[] = [
  [
    "Everywhere",
    [
      ["/", "search, or paste a trace id"],
      ["g, then a letter", "go: s services, m map, t traces, p profiles, c compare, f findings, d deploys, v coverage"],
      ["?", "this list"],
    ],
  ],
  [
    "Trace",
    [
      ["arrows, Home, End", "move, fold and unfold"],
      ["Enter, w", "why the span took as long"],
      ["z, Escape", "zoom to the span, and out"],
      ["[ and ]", "previous and next match"],
    ],
  ],
  [
    "Flame graph",
    [
      ["1 2 3 4", "graph, graph and table, table, tree"],
      ["/", "find functions, when the graph has the focus"],
      ["arrows", "to the caller, the callee, the bar beside"],
      ["Enter, Backspace", "zoom into the chosen bar, out by one"],
      ["Escape", "show all"],
      ["m, right click", "what can be done with a bar"],
      ["i", "root at the top or at the bottom"],
      ["f", "fold the answer above the graph"],
    ],
  ],
];

/** Keys that work everywhere, and the list of all keys. Off while typing. */
export function Keys() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [open, setOpen] = useState(false);
  useEffect(() => {
    let went = 0;
    const onKey = (e: KeyboardEvent) => {
      if (e.ctrlKey || e.metaKey || e.altKey || (e.target instanceof Element && e.target.closest("input,textarea,select,dialog"))) return;
      const to = Date.now() - went < 1500 ? GO[e.key] : undefined;
      went = 0;
      if (e.key === "?") setOpen(true);
      else if (e.key === "g") went = Date.now();
      else if (to !== undefined) goTo(within(params(), { view: to === "overview" ? undefined : to }));
      else return;
      e.preventDefault();
      e.stopImmediatePropagation();
    };
    // Before the graph's own keys: "g" and a letter are one word.
    addEventListener("keydown", onKey, true);
    return () => removeEventListener("keydown", onKey, true);
  }, []);
  useEffect(() => {
    if (open) dialog.current?.showModal();
  }, [open]);
  if (!open) return null;
  return (
    <dialog ref={dialog} aria-labelledby="keys-title" class="keys-list" onClose={() => setOpen(false)}>
      <h2 id="keys-title">Keys</h2>
      {KEYS.map(([where, keys]) => (
        <section key={where}>
          <h3>{where}</h3>
          <dl class="keys">
            {keys.map(([key, words]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{words}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <button type="button" class="btn" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}
