// Names from telemetry are somebody else's text. They are always put on screen as text; what is left to do here is to
// make characters visible that would reorder or hide what stands around them.

// Controls, bidirectional overrides and isolates, zero width characters, line separators, byte order mark.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

export function visible(text: string): string {
  return text.replace(UNSEEN, (c) => {
    const code = c.codePointAt(0) ?? 0;
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `⟨${code.toString(16).padStart(4, "0")}⟩`;
  });
}

// What a view of the page does instead of a command.
const VIEWS: Record<string, string> = { coverage: "Coverage", "control collectors": "Collectors" };

/** A sentence of the server without the commands it names for a terminal: the page does the same by a click. */
export function said(text: string): string {
  return visible(
    text
      .replace(/ \(spanflame [^)]*\)/g, "")
      .replace(/: spanflame (findings|flame) --span \S+( has them)?/g, "")
      .replace(/; see spanflame keep --trace( [0-9a-f]+)?/g, "")
      .replace(/(^|[.;] )?`?spanflame (coverage|control collectors)`? (prints|has|shows|lists)/g, (_, end: string | undefined, name: string, verb: string) => {
        const view = `${VIEWS[name]} ${verb === "prints" ? "shows" : verb}`;
        return end === undefined || end === "; " ? `${end ?? ""}the view ${view}` : `${end}${view}`;
      }),
  );
}

/** For Markdown: no mark-up, no link (also not of an address that stands there by itself), no picture, no mention of anybody. */
export function markdownText(text: string): string {
  return visible(text)
    .replace(/[\\`*_[\]<>|~!#&]/g, "\\$&")
    .replace(/:\/\//g, ":\u200b//")
    .replace(/\bwww\./gi, "$&\u200b")
    .replace(/(^|\W)@(?=\w)/g, "$1@\u200b");
}

/** A command as a block of Markdown, which only a line of its own could end. */
export function markdownCommand(command: string): string {
  return `\`\`\`sh\n${visible(command)}\n\`\`\``;
}

/** A name for a narrow place: the middle is what can be spared. */
export function ellipsis(text: string, max: number): string {
  if (text.length <= max) return text;
  const head = Math.ceil((max - 1) * 0.4);
  return `${text.slice(0, head)}…${text.slice(text.length - (max - 1 - head))}`;
}
