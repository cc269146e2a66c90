// Services have one of twelve colours, given out in order of first sight and remembered in this browser: up to twelve of
// them never share one. The next twelve have them as rings, the rest is grey and told by its name.

export function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h >>> 0;
}

const SLOTS = 12;
const MOST = 4 * SLOTS;
const KEY = "spanflame.services";
let order: string[] | undefined;

function read(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((n): n is string => typeof n === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}

/** Place in the order of first sight, from 0. */
export function serviceAt(name: string): number {
  order ??= read();
  let at = order.indexOf(name);
  if (at < 0 && order.length < MOST && name.length < 200) {
    at = order.length;
    order.push(name);
    try {
      localStorage.setItem(KEY, JSON.stringify(order));
    } catch {
      // then the order is this tab's own
    }
  }
  return at < 0 ? MOST : at;
}

/** The token of its colour, without the dashes. */
export function serviceToken(name: string): string {
  const at = serviceAt(name);
  return at >= 2 * SLOTS ? "ink-3" : `svc-${String((at % SLOTS) + 1)}`;
}

export function serviceColor(name: string): string {
  return `var(--${serviceToken(name)})`;
}

export function isRing(name: string): boolean {
  const at = serviceAt(name);
  return at >= SLOTS && at < 2 * SLOTS;
}
