import type { ComponentChildren } from "preact";
import type { ExplainPart } from "../api/types";
import { visible } from "../format/safe_text";

const NUMBER = /~?\d[\d.,]*(?:\u2009|\u00a0| )?(?:ns|µs|us|ms|s|min|h|%|MB|MiB|KiB|GiB)(?![\w])/;

function namesIn(parts: readonly ExplainPart[]): string[] {
  const out = new Set<string>();
  const look = (some: readonly ExplainPart[]) => {
    for (const p of some) {
      for (const f of p.functions ?? []) {
        out.add(f.function);
        if (f.caller !== "") out.add(f.caller);
      }
      for (const c of p.children ?? []) look(c.parts ?? []);
    }
  };
  look(parts);
  return [...out].filter((n) => n.length > 1).sort((a, b) => b.length - a.length);
}

/** The server's sentence with its numbers bold, written as the page writes them, and its functions as code. Names are somebody else's text, and stay text. */
export function Sentence(props: { text: string; parts?: readonly ExplainPart[]; names?: readonly string[] }) {
  const names = [...namesIn(props.parts ?? []), ...(props.names ?? []).filter((n) => n.length > 1)];
  const escaped = names.map((n) => n.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pattern = new RegExp(`(${[...escaped.map((n) => `(?<![\\w/])${n}(?!\\w)`), NUMBER.source].join("|")})`, "u");
  const out: ComponentChildren[] = props.text.split(pattern).map((piece, i) => {
    if (i % 2 === 0) return visible(piece).replace(/(^|[\s(])-$/, "$1−");
    return names.includes(piece) ? (
      <bdi key={i} class="mono b">
        {visible(piece)}
      </bdi>
    ) : (
      <b key={i}>{piece.replace(/us$/, "µs")}</b>
    );
  });
  return <>{out}</>;
}
