// The same name has the same colour everywhere.

export function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h >>> 0;
}

// Told apart with any of the common kinds of colour blindness when next to each other; dark text reads on all.
const SERVICE = ["#56b4e9", "#e69f00", "#5bc8a4", "#f0a1c8", "#c9b458", "#8fb3ff", "#ff9b7a", "#9ad36a", "#c7a6f2", "#7fd6d6"];

export function serviceColor(name: string): string {
  return SERVICE[hash(name) % SERVICE.length] ?? "#999";
}
