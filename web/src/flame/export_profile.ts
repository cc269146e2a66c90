// pprof and speedscope files of what is on screen: for graphs that no one answer of the server is, as differences and all
// time of a span are. Of a difference both sides stand in the file.

import { ESTIMATE } from "../format/units";
import { nameOf, type Tree } from "./tree";

interface Side {
  readonly name: string;
  readonly values: Float64Array;
}

function sidesOf(t: Tree): Side[] {
  const mark = t.measure.isEstimate ? ` (${ESTIMATE} estimate)` : "";
  return t.otherSelf ? [{ name: `baseline${mark}`, values: t.self }, { name: `comparison${mark}`, values: t.otherSelf }] : [{ name: `profile${mark}`, values: t.self }];
}

/** Nodes from the outermost call to this one, without the root. */
function wayTo(t: Tree, node: number): number[] {
  const out: number[] = [];
  for (let at = node; at > 0; at = t.parent[at] ?? 0) out.push(at);
  return out.reverse();
}

/** A number for each frame that has a bar; the same name, file and line are one. */
function framesOf(t: Tree): { of: Int32Array; list: { name: string; file: string; line: number }[] } {
  const seen = new Map<string, number>();
  const list: { name: string; file: string; line: number }[] = [];
  const of = new Int32Array(t.n);
  for (let i = 1; i < t.n; i++) {
    const f = t.frames[t.frame[i] ?? -1];
    const one = { name: nameOf(t, i), file: f?.file ?? "", line: f?.line ?? 0 };
    const key = `${one.name}\0${one.file}\0${String(one.line)}`;
    let at = seen.get(key);
    if (at === undefined) {
      at = list.push(one) - 1;
      seen.set(key, at);
    }
    of[i] = at;
  }
  return { of, list };
}

const UNITS: Readonly<Record<string, string>> = { nanoseconds: "nanoseconds", bytes: "bytes" };

export function speedscope(t: Tree): string {
  const { of, list } = framesOf(t);
  const profiles = sidesOf(t).map((side) => {
    const samples: number[][] = [];
    const weights: number[] = [];
    for (let i = 1; i < t.n; i++) {
      const v = side.values[i] ?? 0;
      if (v <= 0) continue;
      samples.push(wayTo(t, i).map((n) => of[n] ?? 0));
      weights.push(v);
    }
    return { type: "sampled", name: side.name, unit: UNITS[t.measure.unit] ?? "none", startValue: 0, endValue: weights.reduce((n, w) => n + w, 0), samples, weights };
  });
  const frames = list.map((f) => ({ name: f.name, ...(f.file === "" ? {} : { file: f.file }), ...(f.line > 0 ? { line: f.line } : {}) }));
  return JSON.stringify({ $schema: "https://www.speedscope.app/file-format-schema.json", exporter: "spanflame", shared: { frames }, profiles });
}

/** Bytes of protobuf, as they grow. */
class Message {
  private readonly bytes: number[] = [];

  private varint(n: bigint): void {
    let left = BigInt.asUintN(64, n);
    while (left > 127n) {
      this.bytes.push(Number(left & 127n) | 128);
      left >>= 7n;
    }
    this.bytes.push(Number(left));
  }

  number(field: number, n: number): this {
    this.varint(BigInt(field) << 3n);
    this.varint(BigInt(Math.round(n)));
    return this;
  }

  numbers(field: number, all: readonly number[]): this {
    const packed = new Message();
    for (const n of all) packed.varint(BigInt(Math.round(n)));
    return this.inside(field, packed.bytes);
  }

  text(field: number, s: string): this {
    return this.inside(field, new TextEncoder().encode(s));
  }

  message(field: number, m: Message): this {
    return this.inside(field, m.bytes);
  }

  private inside(field: number, content: ArrayLike<number>): this {
    this.varint((BigInt(field) << 3n) | 2n);
    this.varint(BigInt(content.length));
    for (let i = 0; i < content.length; i++) this.bytes.push(content[i] ?? 0);
    return this;
  }

  done(): Uint8Array<ArrayBuffer> {
    return Uint8Array.from(this.bytes);
  }
}

/** Of a difference three values a stack: baseline, comparison, and what the second has more; pprof shows the last one. */
export function pprof(t: Tree): Uint8Array<ArrayBuffer> {
  const { of, list } = framesOf(t);
  const strings = new Map<string, number>([["", 0]]);
  const string = (s: string) => {
    const at = strings.get(s) ?? strings.size;
    strings.set(s, at);
    return at;
  };
  const sides = sidesOf(t);
  const unit = t.measure.unit === "" ? "count" : t.measure.unit;
  const out = new Message();
  for (const name of [...sides.map((s) => s.name), ...(sides.length > 1 ? ["difference"] : [])]) out.message(1, new Message().number(1, string(name)).number(2, string(unit)));
  for (let i = 1; i < t.n; i++) {
    const values = sides.map((s) => Math.round(s.values[i] ?? 0));
    if (values.every((v) => v === 0)) continue;
    if (values.length > 1) values.push((values[1] ?? 0) - (values[0] ?? 0));
    out.message(2, new Message().numbers(1, wayTo(t, i).reverse().map((n) => (of[n] ?? 0) + 1)).numbers(2, values));
  }
  list.forEach((f, i) => {
    out.message(4, new Message().number(1, i + 1).message(4, new Message().number(1, i + 1).number(2, f.line)));
    out.message(5, new Message().number(1, i + 1).number(2, string(f.name)).number(3, string(f.name)).number(4, string(f.file)));
  });
  for (const s of strings.keys()) out.text(6, s);
  return out.done();
}
