// Names from telemetry are somebody else's text. They are always put on screen as text; what is left to do here is to
// make characters visible that would reorder or hide what stands around them.

// Controls, bidirectional overrides and isolates, zero width characters, line separators, byte order mark.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

export function visible(text: string): string {
  return text.replace(UNSEEN, (c) => {
    const code = c.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `⟨${code.toString(16).padStart(4, "0")}⟩`;
  });
}

/** A name for a narrow place: the middle is what can be spared. */
export function ellipsis(text: string, max: number): string {
  if (text.length <= max) return text;
  const head = Math.ceil((max - 1) * 0.4);
  return `${text.slice(0, head)}…${text.slice(text.length - (max - 1 - head))}`;
}
