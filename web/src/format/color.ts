// The same name has the same colour everywhere.

export function hash(text: string): number {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h >>> 0;
}

const colors = new Map<string, string>();

/** Light enough for dark text on it; 36 hues of two strengths, so that the few services of a trace rarely look alike. */
export function serviceColor(name: string): string {
  const known = colors.get(name);
  if (known !== undefined) return known;
  const h = Math.imul(hash(name), 2654435761) >>> 0;
  const color = `hsl(${String((h % 36) * 10)} ${String(60 + ((h >>> 8) % 2) * 25)}% ${String(64 + ((h >>> 12) % 2) * 12)}%)`;
  colors.set(name, color);
  return color;
}
