// What is on screen is in the address: a pasted link opens the same view, back and forward work.

export type Params = Readonly<Record<string, string>>;

export function parse(search: string): Params {
  const out: Record<string, string> = {};
  for (const [key, val] of new URLSearchParams(search)) if (!(key in out) && val !== "") out[key] = val;
  return out;
}

/** The view first, the rest by name: equal states are equal addresses. */
export function write(params: Readonly<Record<string, string | undefined>>): string {
  const keys = Object.keys(params).filter((k) => params[k] !== undefined && params[k] !== "");
  keys.sort((a, b) => (a === "view" ? -1 : b === "view" ? 1 : a < b ? -1 : 1));
  const out = new URLSearchParams();
  for (const k of keys) out.set(k, params[k] ?? "");
  const text = out.toString();
  return text === "" ? "/" : `/?${text}`;
}

/** What goes along when the view changes. */
const KEPT = ["from", "until", "refresh"];

export function within(now: Params, next: Readonly<Record<string, string | undefined>>): string {
  const out: Record<string, string | undefined> = {};
  for (const k of KEPT) out[k] = now[k];
  return write({ ...out, ...next });
}

type Listener = () => void;
const listeners = new Set<Listener>();
let current: Params = typeof location === "undefined" ? {} : parse(location.search);

export function params(): Params {
  return current;
}

export function listen(f: Listener): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

function tell(): void {
  current = parse(location.search);
  for (const f of listeners) f();
}

export function goTo(address: string): void {
  if (address !== location.pathname + location.search) history.pushState(null, "", address);
  tell();
}

/** Changes some of what is there; an empty value takes a key away. `replace` for what nobody wants to go back through. */
export function change(some: Readonly<Record<string, string | undefined>>, replace = false): void {
  const address = write({ ...current, ...some });
  if (address === location.pathname + location.search) return;
  if (replace) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  tell();
}

export function start(): void {
  addEventListener("popstate", tell);
}
