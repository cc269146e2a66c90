import { useMemo } from "preact/hooks";
import { visible } from "../format/safe_text";
import { amount, share } from "../format/units";
import { Name } from "../parts/name";
import { baseAmount, type Base } from "./base";
import { nameOf, nodeAtPlace, placeOf, type Tree } from "./tree";

/** Opens what matters: the way down while one child has most of it. */
function hotPath(t: Tree): Set<number> {
  const open = new Set([0]);
  for (let node = 0, c = t.first[0] ?? -1; c >= 0; node = c, c = t.first[node] ?? -1) {
    if ((t.size[c] ?? 0) < 0.1 * (t.size[0] ?? 0)) break;
    open.add(c);
  }
  return open;
}

function rowsOf(t: Tree, open: ReadonlySet<number>, max: number): number[] {
  const out: number[] = [];
  const walk = (node: number) => {
    for (let c = t.first[node] ?? -1; c >= 0 && out.length < max; c = t.next[c] ?? -1) {
      out.push(c);
      if (open.has(c)) walk(c);
    }
  };
  walk(0);
  return out;
}

/** The graph as a table: callees nested below their callers. `turned` lists the places that are not as the hot path has
 * them; it and the base are the caller's to keep. */
export function CallTree(props: {
  tree: Tree;
  bases: readonly Base[];
  base: Base;
  turned: string;
  selected: string;
  onBase: (name: string) => void;
  onTurned: (places: string) => void;
  onPick: (name: string) => void;
}) {
  const { tree, turned } = props;
  const open = useMemo(() => {
    const out = hotPath(tree);
    for (const place of turned === "" ? [] : turned.split("_")) {
      const node = nodeAtPlace(tree, place);
      if (placeOf(tree, node) === place && !out.delete(node)) out.add(node);
    }
    return out;
  }, [tree, turned]);
  const rows = useMemo(() => rowsOf(tree, open, 2000), [tree, open]);
  const { base } = props;
  const toggle = (node: number) => {
    const all = new Set(turned === "" ? [] : turned.split("_"));
    const place = placeOf(tree, node);
    if (!all.delete(place)) all.add(place);
    props.onTurned([...all].join("_"));
  };
  return (
    <div class="flame-table" tabIndex={0} role="region" aria-label="Call tree">
      <table aria-label="Call tree">
        <thead>
          <tr>
            <th>Function</th>
            <th class="number">{tree.measure.unit === "nanoseconds" ? "Time" : "Value"}</th>
            <th class="number">Self</th>
            <th class="number">
              <label>
                % of{" "}
                <select value={base.name} onChange={(e) => props.onBase(e.currentTarget.value)}>
                  {props.bases.map((b) => (
                    <option key={b.name} value={b.name}>
                      {b.words} ({baseAmount(b, tree.measure)})
                    </option>
                  ))}
                </select>
              </label>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((node) => {
            const depth = (tree.depth[node] ?? 1) - 1;
            const has = (tree.first[node] ?? -1) >= 0;
            const total = tree.total[node] ?? 0;
            const name = nameOf(tree, node);
            return (
              <tr key={node} aria-current={name === props.selected ? "true" : undefined}>
                <td>
                  <span class="call" style={{ paddingLeft: `${String(Math.min(depth, 40) * 14)}px` }}>
                    <button type="button" class="plain toggle" disabled={!has} aria-expanded={has ? open.has(node) : undefined} aria-label={`Callees of ${visible(name)}`} onClick={() => toggle(node)}>
                      {has ? (open.has(node) ? "▾" : "▸") : "·"}
                    </button>
                    {depth > 0 && <span class="faint" aria-hidden="true">↳ </span>}
                    <button type="button" class="plain function" onClick={() => props.onPick(name)}>
                      <Name text={name} />
                    </button>
                  </span>
                </td>
                <td class="number">{amount(total, tree.measure)}</td>
                <td class="number">{amount(tree.self[node] ?? 0, tree.measure)}</td>
                <td class="number">
                  <span class="share-bar" style={{ width: `${String(Math.min(100, (total / (base.value || 1)) * 100) * 0.6)}px` }} />
                  {share(total / (base.value || 1), tree.measure)}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {rows.length >= 2000 && <p class="note">The first 2,000 rows; close some to see others.</p>}
    </div>
  );
}
