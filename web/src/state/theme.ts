export type Theme = "auto" | "light" | "dark";
const KEY = "spanflame.theme";

export function theme(): Theme {
  const t = localStorage.getItem(KEY);
  return t === "light" || t === "dark" ? t : "auto";
}

export function setTheme(t: Theme): void {
  if (t === "auto") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, t);
  applyTheme();
}

export function applyTheme(): void {
  const t = theme();
  if (t === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = t;
  dispatchEvent(new Event("themechange"));
}
