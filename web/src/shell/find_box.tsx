import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../parts/icon";
import { goTo, params, within } from "../state/url";

const SERVICES = 8;

export interface Meant {
  readonly to: Readonly<Record<string, string | undefined>>;
  readonly words: string;
}

/** What a text in the search field means: an id, a query, or a service's name. */
export function meantBy(text: string): Meant | undefined {
  const t = text.trim();
  const id = t.replace(/^0x/i, "").replaceAll("-", "").toLowerCase();
  const parent = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/i.exec(t);
  if (parent) return { to: { view: "trace", id: (parent[1] ?? "").toLowerCase(), span: (parent[2] ?? "").toLowerCase() }, words: "Open this span" };
  if (/^[0-9a-f]{17,32}$/.test(id)) return { to: { view: "trace", id }, words: "Open this trace" };
  if (/^[0-9a-f]{16}$/.test(id)) return { to: { view: "trace", id: "-", span: id }, words: "Open this span" };
  if (t.startsWith("{")) return { to: { view: "search", q: t }, words: "Search for these spans" };
  return t === "" ? undefined : { to: { view: "service", service: t }, words: "Open this service" };
}

/** One field for everything; "/" leads to it. */
export function FindBox(props: { services: readonly string[] }) {
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.defaultPrevented) return;
      if (e.target instanceof Element && e.target.closest("input,textarea,select,dialog,.flame")) return;
      e.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const t = text.trim().toLowerCase();
  const meant = meantBy(text);
  const isService = meant?.to["view"] === "service";
  const fit = isService || t === "" ? props.services.filter((s) => s.toLowerCase().includes(t)) : [];
  const listed = fit.slice(0, SERVICES);
  const first: Meant | undefined = isService ? (fit.length > 0 ? undefined : { to: { view: "search", q: `{ name =~ ${JSON.stringify(`.*${text.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}.*`)} }` }, words: "Search for spans whose name contains this" }) : meant;
  const offers: Meant[] = [...(first ? [first] : []), ...listed.map((s) => ({ to: { view: "service", service: s }, words: s }))];
  const go = (m: Meant | undefined) => {
    if (!m) return;
    setOpen(false);
    setText("");
    input.current?.blur();
    goTo(within(params(), m.to));
  };
  return (
    <div class="find" role="search">
      <Icon name="find" />
      <input
        ref={input}
        value={text}
        placeholder="Search, or paste a trace id"
        aria-label="Search, or paste a trace id"
        role="combobox"
        aria-expanded={open && offers.length > 0}
        aria-controls="found"
        aria-autocomplete="list"
        {...(at >= 0 ? { "aria-activedescendant": `found-${String(at)}` } : {})}
        onFocus={() => setOpen(true)}
        onBlur={() => setTimeout(() => setOpen(false), 150)}
        onInput={(e) => {
          setText(e.currentTarget.value);
          setOpen(true);
          setAt(-1);
        }}
        onKeyDown={(e) => {
          if (e.key === "Enter") go(offers[Math.max(at, 0)]);
          else if (e.key === "ArrowDown") setAt(Math.min(at + 1, offers.length - 1));
          else if (e.key === "ArrowUp") setAt(Math.max(at - 1, 0));
          else if (e.key === "Escape") input.current?.blur();
          else return;
          e.preventDefault();
        }}
      />
      <kbd aria-hidden="true">/</kbd>
      {open && offers.length > 0 && (
        <ul class="offers" role="listbox" id="found" aria-label="What is meant">
          {offers.map((o, i) => (
            <li
              key={`${o.words} ${String(i)}`}
              id={`found-${String(i)}`}
              role="option"
              aria-selected={i === at}
              onMouseDown={(e) => {
                e.preventDefault();
                go(o);
              }}
            >
              <bdi>{o.words}</bdi>
            </li>
          ))}
          {fit.length > SERVICES && (
            <li class="f3 sm" role="presentation">
              and {fit.length - SERVICES} more services: type more of the name
            </li>
          )}
        </ul>
      )}
    </div>
  );
}
