// What each line of a function cost, as far as the profile has lines; with the way to its source where somebody said it.

import { useMemo } from "preact/hooks";
import { visible } from "../format/safe_text";
import { amount, share } from "../format/units";
import { hasSourceText, sourceAddress } from "../state/links";
import { SourceText } from "./source_text";
import { named, type Source, type Tree } from "./tree";

export interface LineCost {
  readonly file: string;
  readonly line: number;
  self: number;
  total: number;
}

/** By file and line; a line that calls itself counts once in a stack. */
export function linesOf(sources: readonly Source[], name: string): LineCost[] {
  const out = new Map<string, LineCost>();
  for (const { profile, scale } of sources) {
    const { nodes, frames } = profile;
    const total = nodes.map((n) => n[2]);
    for (let i = nodes.length - 1; i > 0; i--) total[nodes[i]?.[0] ?? 0] = (total[nodes[i]?.[0] ?? 0] ?? 0) + (total[i] ?? 0);
    const keys = frames.map((f) => (named(f).function === name && (f.file ?? "") !== "" ? `${f.file ?? ""}:${String(f.line ?? 0)}` : ""));
    nodes.forEach(([up, f, self], i) => {
      const key = i === 0 ? "" : (keys[f] ?? "");
      if (key === "") return;
      let at = out.get(key);
      if (!at) out.set(key, (at = { file: frames[f]?.file ?? "", line: frames[f]?.line ?? 0, self: 0, total: 0 }));
      at.self += self * scale;
      let above = up;
      while (above > 0 && keys[nodes[above]?.[1] ?? -1] !== key) above = nodes[above]?.[0] ?? 0;
      if (above <= 0) at.total += (total[i] ?? 0) * scale;
    });
  }
  return [...out.values()].sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line));
}

function LineTable(props: { rows: readonly LineCost[]; name: string; service: string; tree: Tree }) {
  const { rows, tree } = props;
  const whole = tree.total[0] ?? 0;
  const most = Math.max(...rows.map((r) => r.total), 1e-9);
  const figure = (n: number) => (n > 0 ? amount(n, tree.measure) : ".");
  return (
    <table class="lt">
      <thead>
        <tr>
          <th>Line</th>
          <th class="number">Self</th>
          <th class="number">Total</th>
          <th class="number">Share</th>
          <th class="wide" />
        </tr>
      </thead>
      <tbody>
        {rows.map((r) => {
          const words = `${r.file.slice(r.file.lastIndexOf("/") + 1)}:${String(r.line)}`;
          const href = sourceAddress({ function: props.name, file: r.file, line: r.line }, props.service);
          return (
            <tr key={`${r.file}:${String(r.line)}`}>
              <td class="mono" title={visible(r.file)}>
                {href === "" ? (
                  <bdi>{visible(words)}</bdi>
                ) : (
                  <a href={href} target="_blank" rel="noopener noreferrer">
                    <bdi>{visible(words)}</bdi>
                  </a>
                )}
              </td>
              <td class="number">{figure(r.self)}</td>
              <td class="number">{figure(r.total)}</td>
              <td class="number f3">{share(r.total / (whole || 1), tree.measure)}</td>
              <td class="wide">
                <span class="len wide">
                  <i style={{ width: `${String((r.total / most) * 100)}%` }} />
                </span>
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

export function LineCosts(props: { tree: Tree; name: string; service: string; onClose?: () => void }) {
  const { tree, name } = props;
  const rows = useMemo(() => linesOf(tree.sources ?? [], name), [tree, name]);
  const files = useMemo(() => [...new Set(rows.map((r) => r.file))].map((file) => rows.filter((r) => r.file === file)), [rows]);
  const figure = (n: number) => (n > 0 ? amount(n, tree.measure) : ".");
  return (
    <section class="line-costs" aria-label={`Cost per line of ${visible(name)}`}>
      <header class="row">
        <h3 class="mono">
          <bdi>{visible(name)}</bdi>
        </h3>
        <span class="f3 sm">cost per line: self, and total with callees</span>
        <span class="spring" />
        {props.onClose && (
          <button type="button" class="btn s" onClick={props.onClose}>
            Close
          </button>
        )}
      </header>
      {rows.length === 0 ? (
        <p class="note pad-x">The profile has no line numbers for this function.</p>
      ) : (
        files.map((of) => {
          const list = <LineTable rows={of} name={name} service={props.service} tree={tree} />;
          return hasSourceText() && (of[0]?.line ?? 0) > 0 ? (
            <SourceText key={of[0]?.file} rows={of} figure={figure} address={(line) => sourceAddress({ function: name, file: of[0]?.file ?? "", line }, props.service)} otherwise={list} />
          ) : (
            list
          );
        })
      )}
    </section>
  );
}
