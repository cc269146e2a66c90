// Services have one of twelve colours, given out in order of first sight: up to twelve of them never share one. The next
// twelve have them as rings, the rest is grey and told by its name. The order is kept by the server, so that a service has
// one colour for everybody; a browser that may not write there, or hears nothing from it, goes by its own.

export function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h >>> 0;
}

const SLOTS = 12;
const MOST = 4 * SLOTS;
const KEY = "spanflame.services";
let order: string[] | undefined;
let onNew: (() => void) | undefined;

/** What somebody kept: names, each once. */
export function orderOf(text: string | null | undefined): string[] {
  try {
    const kept: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(kept) ? [...new Set(kept.filter((n): n is string => typeof n === "string" && n.length < 200))].slice(0, MOST) : [];
  } catch {
    return [];
  }
}

function read(): string[] {
  return orderOf(typeof localStorage === "undefined" ? null : localStorage.getItem(KEY));
}

export function knownOrder(): readonly string[] {
  order ??= read();
  return order;
}

/** The server's order comes first, what only this browser has seen behind it. `tell`: called when a name is new. */
export function setOrder(first: readonly string[], tell?: () => void): void {
  order = [...new Set([...first, ...knownOrder()])].slice(0, MOST);
  if (tell) onNew = tell;
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
    onNew?.();
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
