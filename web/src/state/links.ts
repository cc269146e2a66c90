// Links out of the page: where sources and logs are. What this browser keeps comes before what the server says.

import { get } from "../api/client";
import type { Frame, Span, Trace } from "../api/types";
import { nanoToMs } from "../format/units";
import { setting } from "./settings";

interface Links {
  source: string;
  sourceRoot: string;
  logs: string;
  /** The server shows source text itself */
  hasFiles?: boolean;
}

let told: Links = { source: "", sourceRoot: "", logs: "" };

/** Asked once, when the page starts; without an answer there are this browser's links alone. */
export async function loadLinks(): Promise<void> {
  try {
    told = (await get<Links>("/api/v1/links", {}, new AbortController().signal)).data;
    dispatchEvent(new Event("linkschange"));
  } catch {
    // Links are a convenience: nothing else waits for them.
  }
}

/** Does the server show source text itself? */
export function hasSourceText(): boolean {
  return told.hasFiles === true;
}

/** An address of the web, and not one that would run something here. */
export const isAddress = (template: string) => /^https?:\/\/[^/?#{]+/.test(template);

/** Every placeholder once, by a value that cannot leave its place; paths keep their slashes. */
export function filled(template: string, put: Readonly<Record<string, string>>): string {
  if (!isAddress(template)) return "";
  return template.replace(/\{(\w+)\}/g, (_, k: string) => {
    const v = put[k] ?? "";
    return k === "file" ? v.split("/").filter((p) => p !== "." && p !== "..").map(encodeURIComponent).join("/") : encodeURIComponent(v);
  });
}

/** Where a frame's source is; empty: nobody said. */
export function sourceAddress(f: Pick<Frame, "function" | "file" | "line"> | undefined, service = ""): string {
  if (!f?.file) return "";
  const own = setting("sourceTemplate");
  const root = own === "" ? told.sourceRoot : "";
  const file = root !== "" && f.file.startsWith(root) ? f.file.slice(root.length) : f.file;
  return filled(own === "" ? told.source : own, { file, line: String(f.line ?? 1), function: f.function, service });
}

/** Where a span's logs are; empty: nobody said. */
export function logsAddress(trace: Pick<Trace, "traceId">, span: Pick<Span, "spanId" | "service" | "startTimeUnixNano" | "endTimeUnixNano">): string {
  const own = setting("logTemplate");
  return filled(own === "" ? told.logs : own, {
    traceId: trace.traceId,
    spanId: span.spanId,
    service: span.service,
    start: String(Math.floor(nanoToMs(span.startTimeUnixNano))),
    end: String(Math.ceil(nanoToMs(span.endTimeUnixNano))),
  });
}
