// Bars by package: warm is your own code, cool is not; waits are hatched; differences go from blue (less) to red (more).

import type { Frame } from "../api/types";
import { hash, serviceToken } from "../format/color";
import { token } from "../state/palette";
import { isKernel, isLibrary, packageOf } from "./transform";
import { frameKey, type Tree } from "./tree";

/** Colours by the change itself or by its share of the bar; "request": by the change for each request. */
export type DiffBy = "absolute" | "relative" | "request";

export interface Paint {
  readonly fill: string;
  readonly ink: string;
  /** Of a wait: whose hatching lies over the ground */
  readonly hatch: string;
}

let shades = new Map<string, string>();
let trees = new WeakMap<Tree, Paint[]>();
if (typeof addEventListener !== "undefined")
  addEventListener("themechange", () => {
    shades = new Map();
    trees = new WeakMap();
  });

const number = (name: string, otherwise: number) => {
  const v = Number.parseFloat(token(name));
  return Number.isFinite(v) ? v : otherwise;
};

const RUNTIME = /^(runtime\.|gc\b|GC_|\[?gc\]?|G1|Shenandoah|Z(Mark|Relocate)|_?Py(Eval|GC)|v8::internal|JVM_|jit_)/;

/** oklch by a hash: the package chooses the hue, the function a shade of it. */
function shade(f: Frame): string {
  const [l, dl] = [number("fl-l", 0.845), number("fl-dl", 0.035)];
  const pack = hash(packageOf(f));
  const own = hash(f.function);
  const light = l + (((own >>> 8) % 101) / 50 - 1) * dl;
  const isLib = isLibrary(f);
  const hue = RUNTIME.test(f.function) ? 320 : isLib ? 150 + (pack % 100) : 40 + (pack % 52) + ((own % 17) - 8);
  const chroma = isLib || hue === 320 ? number("fl-c-lib", 0.045) : number("fl-c-own", 0.095);
  return rgbOf(light, chroma, hue);
}

/** A colour of the page as a canvas takes it fastest; a browser reads "oklch(…)" again for every bar. */
export function rgbOf(l: number, chroma: number, hue: number): string {
  const [a, b] = [chroma * Math.cos((hue * Math.PI) / 180), chroma * Math.sin((hue * Math.PI) / 180)];
  const [x, y, z] = [(l + 0.3963377774 * a + 0.2158037573 * b) ** 3, (l - 0.1055613458 * a - 0.0638541728 * b) ** 3, (l - 0.0894841775 * a - 1.291485548 * b) ** 3];
  const linear = [4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z, -1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z, -0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z];
  const byte = (v: number) => Math.round(255 * Math.min(1, Math.max(0, v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055)));
  return `#${linear.map((v) => byte(v).toString(16).padStart(2, "0")).join("")}`;
}

const HATCHED: Readonly<Record<string, string>> = { run_queue: "queue", lock: "lock", disk: "disk", net: "net", io: "net", sleep: "sleep", gc: "gc" };

/** "wait lock" of a frame's kind: which part it waits in; "" when it runs. */
export function waitOf(f: Frame | undefined): string {
  return f?.kind?.startsWith("wait ") === true ? f.kind.slice(5) : "";
}

/** The token of a part's colours: "run_queue" is "queue". */
export function partToken(part: string): string {
  if (part === "cpu" || part === "on_cpu") return "cpu";
  if (part === "child" || part === "remote") return "child";
  return HATCHED[part] ?? "unknown";
}

/** A wait is hatched in differences, too: what waits is told from what runs by its form. */
function hatchOfFrame(f: Frame | undefined): string {
  const part = partToken(waitOf(f));
  return part === "unknown" ? "" : part;
}

function frameFill(f: Frame): string {
  const wait = waitOf(f);
  if (wait !== "") return token(`t-${partToken(wait)}-b`) || "#eee";
  if (f.kind === "running") return token("t-cpu") || "#c85b30";
  if (f.kind === "service") return `color-mix(in srgb, ${token(serviceToken(f.function)) || "#888"} 45%, ${token("panel") || "#fff"})`;
  if (f.kind === "span" || f.kind === "unknown" || f.kind === "marker" || isKernel(f) || (f.function.endsWith("(no symbols)") && !f.file)) return token("t-child-b") || "#e4e8ee";
  const key = frameKey(f);
  let fill = shades.get(key);
  if (fill === undefined) {
    fill = shade(f);
    shades.set(key, fill);
  }
  return fill;
}

export function framePaint(f: Frame | undefined): Paint {
  return { fill: f ? frameFill(f) : token("t-child-b") || "#e4e8ee", ink: f?.kind === "running" ? token("panel") || "#fff" : token("fl-ink") || "#1d1a16", hatch: hatchOfFrame(f) };
}

const STEPS = [0.005, 0.05, 0.2];
const RELATIVE = [0.05, 0.25, 0.6];

/** How much of the whole a change is: 0 (the same) to 3, negative for less. */
export function diffLevel(change: number, by: DiffBy): number {
  const steps = by === "relative" ? RELATIVE : STEPS;
  const level = steps.filter((s) => Math.abs(change) >= s).length;
  return change < 0 ? -level : level;
}

export function diffPaint(t: Tree, node: number, by: DiffBy): Paint {
  const a = t.total[node] ?? 0;
  const b = t.otherTotal?.[node] ?? 0;
  const whole = by === "relative" ? Math.max(a, b) : Math.max(t.total[0] ?? 0, t.otherTotal?.[0] ?? 0);
  const level = node > 0 && a <= 0 && b > 0 ? 3 : node > 0 && b <= 0 && a > 0 ? -3 : diffLevel(whole > 0 ? (b - a) / whole : 0, by);
  const name = level === 0 ? "same" : level > 0 ? `more-${String(level)}` : `less-${String(-level)}`;
  // The strongest steps are dark on light ground and light on dark ground: their ink is the ground's.
  return { fill: token(name) || "#ddd", ink: Math.abs(level) === 3 ? token("panel") || "#fff" : token("fl-ink") || "#1d1a16", hatch: hatchOfFrame(t.frames[t.frame[node] ?? -1]) };
}

export function paintOf(t: Tree, node: number, by: DiffBy): Paint {
  if (t.otherTotal) return diffPaint(t, node, by);
  const at = t.frame[node] ?? -1;
  let paints = trees.get(t);
  if (!paints) {
    paints = [];
    trees.set(t, paints);
  }
  const known = paints[at + 1];
  if (known) return known;
  const made = framePaint(t.frames[at]);
  paints[at + 1] = made;
  return made;
}
