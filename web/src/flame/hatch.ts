// Hatching of waits on a canvas: one pattern for each part and theme.

import { token } from "../state/palette";

let made = new Map<string, CanvasPattern | null>();
if (typeof addEventListener !== "undefined")
  addEventListener("themechange", () => {
    made = new Map();
  });

function tile(part: string): HTMLCanvasElement {
  const c = document.createElement("canvas");
  c.width = c.height = 20;
  const g = c.getContext("2d");
  if (!g) return c;
  // Twice as fine, so that a screen of two dots per pixel has sharp lines.
  g.scale(2, 2);
  g.globalAlpha = 0.5;
  g.strokeStyle = g.fillStyle = token(`t-${part}`);
  const line = (x0: number, y0: number, x1: number, y1: number, w: number) => {
    g.lineWidth = w;
    g.beginPath();
    g.moveTo(x0, y0);
    g.lineTo(x1, y1);
    g.stroke();
  };
  if (part === "queue" || part === "lock") for (const d of [-10, 0, 10]) line(d - 1, 11, d + 11, -1, part === "lock" ? 1.5 : 2);
  if (part === "net" || part === "lock") for (const d of [-10, 0, 10]) line(d - 1, -1, d + 11, 11, part === "lock" ? 1.5 : 2);
  if (part === "disk") for (const y of [1, 6]) line(0, y, 10, y, 1.5);
  if (part === "gc") for (const x of [2, 7]) line(x, 0, x, 10, 1);
  if (part === "sleep") for (const x of [2.5, 7.5]) for (const y of [2.5, 7.5]) g.fillRect(x - 0.8, y - 0.8, 1.6, 1.6);
  return c;
}

export function hatchOf(g: CanvasRenderingContext2D, part: string): CanvasPattern | undefined {
  let p = made.get(part);
  if (p === undefined) {
    p = g.createPattern(tile(part), "repeat");
    p?.setTransform(new DOMMatrix().scale(0.5));
    made.set(part, p);
  }
  return p ?? undefined;
}
