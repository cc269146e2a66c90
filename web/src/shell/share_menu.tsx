// What goes to somebody else: the link, the command that answers the same in a terminal, text for an incident.

import { copyText } from "../parts/copy_button";
import { Icon } from "../parts/icon";
import { Popover } from "../parts/popover";
import { useState } from "preact/hooks";
import { rangeOf } from "../state/range";
import { params, write, type Params } from "../state/url";

/** The same with the times of now: it shows later what it shows today. */
export function fixedAddress(url: Params, nowMs: number): string {
  const r = rangeOf(url, nowMs);
  return write({ ...url, from: String(Math.floor(r.fromMs)), until: String(Math.ceil(r.untilMs)), refresh: undefined });
}

function quoted(text: string): string {
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
  const words = ((): string[] => {
    switch (of("view")) {
      case "trace":
        return of("span") !== "" ? ["why", of("span"), ...(of("id") === "-" ? [] : ["--trace", of("id")]), ...focus] : ["why", of("id"), ...focus];
      case "search":
        return ["search", of("q") || "{ }", "--from", new Date(Math.floor(r.fromMs)).toISOString(), "--until", new Date(Math.ceil(r.untilMs)).toISOString()];
      case "compare":
        if (of("left") !== "") return ["compare", "--left", of("left"), "--right", of("right"), ...back];
        if (of("split") === "all") return ["why", "--q", of("q") || "{ }", ...focus, ...back];
        if (of("split") === "errors") return ["compare", "--errors-vs-ok", of("q") || "{ }", ...back];
        return ["compare", "--slow-vs-fast", of("q") || "{ }", ...(of("split") === "" ? [] : ["--split", of("split")]), ...back];
      case "pins":
        return ["keep", "list"];
      case "findings":
        return of("service") === "" ? ["services", ...back] : ["findings", of("service"), ...back];
      case "coverage":
        return of("service") === "" ? ["services", ...back] : ["coverage", of("service"), ...back];
      case "spans":
        return ["spans-with", of("function"), ...(of("service") === "" ? [] : ["--service", of("service")]), ...back];
      case "service":
        return ["services", "--service", of("service"), ...back];
      case "profiles":
        return of("service") === "" ? ["services", ...back] : ["flame", `{service_name=${JSON.stringify(of("service"))}}`];
      default:
        return ["services", ...back];
    }
  })();
  return ["spanflame", ...words, "--server", server].map(quoted).join(" ");
}

/** What the view says, as its words stand on screen. */
export function markdownOf(title: string, address: string, root: ParentNode): string {
  const text = (e: Element) => (e.textContent || "").replace(/\s+/g, " ").trim();
  const lines = [`**[${title.replace(/[[\]\\]/g, "\\$&")}](${address})**`];
  for (const e of root.querySelectorAll("[data-answer]")) lines.push("", text(e).replace(/[*_`<>\\]/g, "\\$&"));
  const table = root.querySelector("[data-parts]");
  const cell = (e: Element) => text(e).replace(/[|\\]/g, "\\$&");
  const rows = [...(table?.querySelectorAll("tr") ?? [])].map((r) => [...r.querySelectorAll("th,td")].map(cell));
  rows.forEach((r, i) => {
    if (i === 0) lines.push("");
    lines.push(`| ${r.join(" | ")} |`);
    if (i === 0) lines.push(`|${r.map(() => "---").join("|")}|`);
  });
  return lines.join("\n");
}

export function ShareMenu() {
  const [done, setDone] = useState("");
  const copy = (what: string, words: string) => {
    void copyText(what).then((ok) => {
      setDone(ok ? `${words} copied` : "The browser did not allow copying");
      setTimeout(() => setDone(""), 2000);
    });
  };
  const link = () => location.origin + fixedAddress(params(), Date.now());
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
      {() => (
        <div class="menu-list">
          <button type="button" onClick={() => copy(link(), "Link")}>
            Copy the link <span class="faint">with the time as it is now</span>
          </button>
          <button type="button" onClick={() => copy(commandOf(params(), Date.now(), location.origin), "Command")}>
            Copy the command <span class="faint">for a terminal</span>
          </button>
          <button type="button" onClick={() => copy(markdownOf(document.title.replace(/ · Spanflame$/, ""), link(), document), "Markdown")}>
            Copy as Markdown <span class="faint">for an incident</span>
          </button>
          <p class="note" role="status">
            {done}
          </p>
        </div>
      )}
    </Popover>
  );
}
