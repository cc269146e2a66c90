// Tokens of the design as colours a canvas can use: read once per theme.

let known = new Map<string, string>();

function forget(): void {
  known = new Map();
}
if (typeof addEventListener !== "undefined") {
  addEventListener("themechange", forget);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => dispatchEvent(new Event("themechange")));
}

/** "t-cpu" is what --t-cpu holds now. */
export function token(name: string): string {
  let value = known.get(name);
  if (value === undefined) {
    value = typeof document === "undefined" ? "" : getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    known.set(name, value);
  }
  return value;
}
