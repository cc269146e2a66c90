// Files for elsewhere. What the server can write it writes; pictures are of what is on screen.

import { blob, type Query } from "../api/client";
import { visible } from "../format/safe_text";
import { amount, ESTIMATE } from "../format/units";
import { paintOf, type DiffBy } from "./colors";
import { ROW, rowTop, windowOf } from "./draw";
import { nameOf, stackOf, type Tree } from "./tree";

export function save(content: Blob, name: string): void {
  const a = document.createElement("a");
  a.href = URL.createObjectURL(content);
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}

/** "main;serve;handle 1200" a line: what every flame graph tool reads. It has no place for remarks: all stacks of an
 * estimate stand under a frame that reports it, as in the server's. Of a difference both numbers, as difffolded writes them. */
export function folded(t: Tree): string {
  const lines: string[] = [];
  for (let i = 1; i < t.n; i++) {
    const self = t.self[i] ?? 0;
    const other = t.otherSelf?.[i] ?? 0;
    if (self <= 0 && other <= 0) continue;
    const stack = t.measure.isEstimate ? [`${ESTIMATE} estimate`, ...stackOf(t, i)] : stackOf(t, i);
    lines.push(`${stack.map((s) => s.replace(/[;\n]/g, "_")).join(";")} ${String(Math.round(self))}${t.otherSelf ? ` ${String(Math.round(other))}` : ""}`);
  }
  return lines.join("\n") + "\n";
}

function escaped(text: string): string {
  return visible(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c] ?? c);
}

export function svg(t: Tree, node: number, icicle: boolean, diffBy: DiffBy, width = 1600): string {
  const contentHeight = (t.maxDepth + 1) * ROW;
  const place = { icicle, contentHeight, scroll: 0, skip: 0 };
  const { left, scale } = windowOf(t, node, width);
  const whole = t.size[0] || 1;
  const out: string[] = [];
  const bar = (i: number, x: number, w: number) => {
    const paint = paintOf(t, i, diffBy);
    const y = rowTop(t.depth[i] ?? 0, place);
    const room = Math.floor((w - 6) / 6.65);
    const name = nameOf(t, i);
    const shown = room < 3 ? "" : name.length <= room ? name : `${name.slice(0, room - 1)}…`;
    out.push(
      `<g><title>${escaped(name)}: ${amount(t.total[i] ?? 0, t.measure)}</title><rect x="${x.toFixed(2)}" y="${String(y)}" width="${Math.max(w - 0.5, 0.3).toFixed(2)}" height="${String(ROW - 1)}" fill="${paint.fill}"/>` +
        (shown === "" ? "" : `<text x="${(x + 3).toFixed(2)}" y="${String(y + 13)}" fill="${paint.ink}">${escaped(shown)}</text>`) +
        "</g>",
    );
  };
  for (let up = node; ; up = t.parent[up] ?? 0) {
    bar(up, 0, width);
    if (up === 0) break;
  }
  const stack = [node];
  for (let i = stack.pop(); i !== undefined; i = stack.pop()) {
    for (let c = t.first[i] ?? -1; c >= 0; c = t.next[c] ?? -1) {
      const w = ((t.size[c] ?? 0) / whole) * scale;
      if (w < 0.2) break;
      bar(c, ((t.x[c] ?? 0) - left) * scale, w);
      stack.push(c);
    }
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${String(width)}" height="${String(contentHeight)}" font-family="monospace" font-size="11">\n${out.join("\n")}\n</svg>\n`;
}

/** Written by the server, from the same question that is on screen. */
export async function saveFromServer(path: string, query: Query, format: string): Promise<void> {
  const endings: Record<string, string> = { pprof: "pb.gz", speedscope: "speedscope.json", folded: "folded.txt", otlp: "otlp.pb" };
  save(await blob(path, { ...query, format }, new AbortController().signal), `profile.${endings[format] ?? format}`);
}
