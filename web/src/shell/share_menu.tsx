// What goes to somebody else: the link, the command that answers the same in a terminal, text for an incident.

import { save } from "../flame/export";
import { markdownText, visible } from "../format/safe_text";
import { copyText } from "../parts/copy_button";
import { Icon } from "../parts/icon";
import { Popover } from "../parts/popover";
import { useState } from "preact/hooks";
import { token } from "../state/palette";
import { rangeOf } from "../state/range";
import { params, write, type Params } from "../state/url";

/** The same with the times of now: it shows later what it shows today. */
export function fixedAddress(url: Params, nowMs: number): string {
  const r = rangeOf(url, nowMs);
  return write({ ...url, from: String(Math.floor(r.fromMs)), until: String(Math.ceil(r.untilMs)), refresh: undefined });
}

/** As one word of a shell. A control character would be a key to the terminal it is pasted to, inside quotes too. */
function quoted(word: string): string {
  const text = visible(word);
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** "now" as far back as the range begins: what most commands take. */
function since(fromMs: number, nowMs: number): string[] {
  return ["--since", `${String(Math.max(1, Math.ceil((nowMs - fromMs) / 1e3)))}s`];
}

/** The command that answers the same. */
export function commandOf(url: Params, nowMs: number, server: string): string {
  const r = rangeOf(url, nowMs);
  const back = since(r.fromMs, nowMs);
  const of = (name: string) => url[name] ?? "";
  const focus = of("focus") === "" ? [] : ["--focus", of("focus")];
  /** The command, its flags, and what it is about: behind them if it looks like a flag. */
  const line = (command: string, flags: readonly string[], name = ""): string => {
    const rest = [...flags, "--server", server];
    return ["spanflame", command, ...(name === "" ? rest : name.startsWith("-") ? [...rest, "--", name] : [name, ...rest])].map(quoted).join(" ");
  };
  switch (of("view")) {
    case "trace":
      return of("span") !== "" ? line("why", [...(of("id") === "-" ? [] : ["--trace", of("id")]), ...focus], of("span")) : line("why", focus, of("id"));
    case "search":
      return line("search", ["--from", new Date(Math.floor(r.fromMs)).toISOString(), "--until", new Date(Math.ceil(r.untilMs)).toISOString()], of("q") || "{ }");
    case "compare":
      if (of("left") !== "") return line("compare", ["--left", of("left"), "--right", of("right"), ...back]);
      if (of("split") === "all") return line("why", ["--q", of("q") || "{ }", ...focus, ...back]);
      if (of("split") === "errors") return line("compare", ["--errors-vs-ok", of("q") || "{ }", ...back]);
      return line("compare", ["--slow-vs-fast", of("q") || "{ }", ...(of("split") === "" ? [] : ["--split", of("split")]), ...back]);
    case "pins":
      return line("keep", [], "list");
    case "findings":
      return of("service") === "" ? line("services", back) : line("findings", back, of("service"));
    case "coverage":
      return of("service") === "" ? line("services", back) : line("coverage", back, of("service"));
    case "spans":
      return line("spans-with", [...(of("service") === "" ? [] : ["--service", of("service")]), ...back], of("function"));
    case "service":
      return line("services", ["--service", of("service"), ...back]);
    case "profiles":
      return of("service") === "" ? line("services", back) : line("flame", [], `{service_name=${JSON.stringify(of("service"))}}`);
    default:
      return line("services", back);
  }
}

/** Where the server draws the same graph; "": the view has none. */
export function pictureOf(url: Params, nowMs: number, part = ""): string {
  const r = rangeOf(url, nowMs);
  const of = (name: string) => url[name] ?? "";
  const times = { from: String(Math.floor(r.fromMs)), until: String(Math.ceil(r.untilMs)) };
  const at = (path: string, query: Readonly<Record<string, string>>) => `${path}?${new URLSearchParams(Object.entries({ ...query, format: "svg" }).filter(([, v]) => v !== "")).toString()}`;
  switch (of("view")) {
    case "trace":
      if (!/^[0-9a-f]+$/i.test(of("id"))) return "";
      // A span that waited for others is seen in the whole trace.
      return /^[0-9a-f]+$/i.test(of("span")) && (of("type") !== "" || of("mode") === "cpu" || !["child", "remote", "unknown"].includes(of("part") || part)) ? at(`/api/v1/spans/${of("id")}/${of("span")}/profile`, of("type") === "" ? { part: of("mode") === "cpu" ? "cpu" : of("part") || part } : { type: of("type") }) : at(`/api/v1/traces/${of("id")}/flame`, { by: "critical-path", waits: "true" });
    case "compare":
      return of("q") !== "" && of("split") === "all" ? at("/api/v1/cohort", { q: of("q"), time: "all", ...times }) : "";
    case "profiles":
      return of("service") === "" ? "" : at("/api/v1/profile", { selector: `{service_name=${JSON.stringify(of("service"))}${of("labels") === "" ? "" : `, ${of("labels")}`}}`, type: of("type"), ...times });
    default:
      return "";
  }
}

/** The graph on screen with its heading, for where a link to this server shows nothing: an issue, a chat. */
async function pngOf(graph: HTMLCanvasElement, title: string): Promise<Blob> {
  const ratio = graph.width / Math.max(1, graph.clientWidth);
  const out = document.createElement("canvas");
  const head = Math.round(28 * ratio);
  out.width = graph.width;
  out.height = graph.height + head;
  const g = out.getContext("2d");
  if (!g) throw new Error("this browser draws no pictures");
  g.fillStyle = token("panel") || "#fff";
  g.fillRect(0, 0, out.width, out.height);
  g.fillStyle = token("ink") || "#000";
  g.font = `600 ${String(Math.round(13 * ratio))}px system-ui, sans-serif`;
  g.textBaseline = "middle";
  g.fillText(title, 6 * ratio, head / 2, out.width - 12 * ratio);
  g.drawImage(graph, 0, head);
  return new Promise((done, failed) => out.toBlob((b) => (b ? done(b) : failed(new Error("the picture could not be made"))), "image/png"));
}

/** To the clipboard where the browser allows it, else to a file. */
async function copyPicture(title: string): Promise<string> {
  const graph = document.querySelector<HTMLCanvasElement>(".flame-canvas, .lanes-canvas");
  if (!graph) return "There is no graph on this view";
  const png = pngOf(graph, title);
  try {
    await navigator.clipboard.write([new ClipboardItem({ "image/png": png })]);
    return "Picture copied";
  } catch {
    save(await png, "spanflame.png");
    return "Picture saved: the browser did not allow copying";
  }
}

/** What the view says, as its words stand on screen. */
export function markdownOf(title: string, address: string, root: ParentNode, picture = ""): string {
  const text = (e: Element) => (e.textContent || "").replace(/\s+/g, " ").trim();
  const plainAddress = (a: string) => a.replace(/[()<>\s]/g, (c) => `%${(c.codePointAt(0) ?? 0).toString(16).padStart(2, "0")}`);
  const lines = [`**[${markdownText(title)}](${plainAddress(address)})**`];
  for (const e of root.querySelectorAll("[data-answer]")) lines.push("", markdownText(text(e)));
  const table = root.querySelector("[data-parts]");
  const cell = (e: Element) => markdownText(text(e));
  const rows = [...(table?.querySelectorAll("tr") ?? [])].map((r) => [...r.querySelectorAll("th,td")].map(cell));
  rows.forEach((r, i) => {
    if (i === 0) lines.push("");
    lines.push(`| ${r.join(" | ")} |`);
    if (i === 0) lines.push(`|${r.map(() => "---").join("|")}|`);
  });
  if (picture !== "") lines.push("", `![Flame graph](${plainAddress(picture)})`);
  return lines.join("\n");
}

/** What was done stays said while the menu is open. */
function Ways() {
  const [done, say] = useState("");
  const copy = (what: string, words: string) => {
    void copyText(what).then((ok) => say(ok ? `${words} copied` : "The browser did not allow copying"));
  };
  const picture = () => {
    const part = document.querySelector<HTMLElement>("[data-parts] tr[aria-selected=true]")?.dataset["part"] ?? "";
    const path = pictureOf(params(), Date.now(), part);
    return path === "" ? "" : location.origin + path;
  };
  const link = () => location.origin + fixedAddress(params(), Date.now());
  return (
    <div class="menu-list">
      <button type="button" onClick={() => copy(link(), "Link")}>
        Copy the link <span class="faint">with fixed times</span>
      </button>
      <button type="button" onClick={() => copy(commandOf(params(), Date.now(), location.origin), "Command")}>
        Copy the command <span class="faint">for a terminal</span>
      </button>
      <button type="button" onClick={() => copy(markdownOf(document.title.replace(/ · Spanflame$/, ""), link(), document, picture()), "Markdown")}>
        Copy as Markdown <span class="faint">for an incident{picture() === "" ? "" : ", with a link to the picture"}</span>
      </button>
      <button type="button" onClick={() => void copyPicture(document.title.replace(/ · Spanflame$/, "")).then(say).catch((e: unknown) => say(String(e)))}>
        Copy the picture <span class="faint">of the graph, to paste below it</span>
      </button>
      <p class="note" role="status">
        {done}
      </p>
    </div>
  );
}

export function ShareMenu() {
  return (
    <Popover
      label="Share"
      panel="Share"
      class="btn s-hide"
      button={
        <>
          <Icon name="share" />
          <span class="m-hide">Share</span>
        </>
      }
    >
      {() => <Ways />}
    </Popover>
  );
}
