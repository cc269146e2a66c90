import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, get } from "../api/client";
import { visible } from "../format/safe_text";
import { faultAt, FUNCTIONS, JOINS_INSIDE, JOINS_OUTSIDE, moreOf, OPERATORS, placeAt, type Place } from "./complete";

interface Tags {
  scopes: { name: string; tags: string[] }[];
}
interface Values {
  tagValues: { type: string; value: string }[];
}

const OFFERED = 30;
const VALUES = 200;

/** Keys and values that are really there. `isCut`: there may be more values than were requested. */
async function offers(place: Place, text: string, caret: number, signal: AbortSignal): Promise<{ all: readonly string[]; isCut: boolean }> {
  const all = await offered(place, text, caret, signal);
  return { all, isCut: place.kind === "value" && all.length >= VALUES };
}

async function offered(place: Place, text: string, caret: number, signal: AbortSignal): Promise<readonly string[]> {
  if (place.kind === "operator") return OPERATORS;
  if (place.kind === "function") return FUNCTIONS;
  if (place.kind === "join") return (text.slice(0, caret).match(/\{/g)?.length ?? 0) > (text.slice(0, caret).match(/\}/g)?.length ?? 0) ? JOINS_INSIDE : JOINS_OUTSIDE;
  if (place.kind === "key") {
    const { data } = await get<Tags>("/api/v2/search/tags", {}, signal);
    return data.scopes.flatMap((s) => s.tags.map((t) => (s.name === "intrinsic" ? t : `${s.name}.${/^[A-Za-z_][\w.\-/]*$/.test(t) ? t : JSON.stringify(t)}`)));
  }
  const { data } = await get<Values>(`/api/v2/search/tag/${encodeURIComponent(place.key)}/values`, { limit: String(VALUES) }, signal);
  return data.tagValues.map((v) => (v.type === "string" ? JSON.stringify(v.value) : v.value));
}

/** What the server says about a query that is still being written: queried for a moment long ago, which costs nothing. */
function useFault(text: string, isOn: boolean): string {
  const [fault, setFault] = useState({ text: "", said: "" });
  useEffect(() => {
    if (!isOn || !/^\s*\{/.test(text)) return undefined;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      get<unknown>("/api/search", { q: text, limit: "1", start: "1", end: "2" }, stop.signal)
        .then(() => setFault({ text, said: "" }))
        .catch((e: unknown) => {
          if (!stop.signal.aborted) setFault({ text, said: e instanceof ApiError && e.status === 400 ? e.message : "" });
        });
    }, 400);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text, isOn]);
  return fault.text === text ? fault.said : "";
}

export function QueryEditor(props: { value: string; fault: string; onRun: (text: string) => void }) {
  const [text, setText] = useState(props.value);
  const [caret, setCaret] = useState(0);
  const [list, setList] = useState<readonly string[]>([]);
  const [more, setMore] = useState("");
  const [at, setAt] = useState(-1);
  const [open, setOpen] = useState(false);
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => setText(props.value), [props.value]);
  const typing = useFault(text, text !== props.value);
  const place = useMemo(() => placeAt(text, caret), [text, caret]);
  useEffect(() => {
    if (!open) return undefined;
    const stop = new AbortController();
    offers(place, text, caret, stop.signal)
      .then(({ all, isCut }) => {
        const w = place.word.toLowerCase();
        const fit = all.filter((o) => w === "" || o.toLowerCase().includes(w));
        fit.sort((a, b) => Number(b.toLowerCase().replace(/^"/, "").startsWith(w)) - Number(a.toLowerCase().replace(/^"/, "").startsWith(w)));
        setList(fit.slice(0, OFFERED));
        setMore(moreOf(fit.length, OFFERED, isCut ? VALUES : 0));
        setAt(-1);
      })
      .catch(() => {
        if (!stop.signal.aborted) setList([]);
      });
    return () => stop.abort();
  }, [open, place.kind, place.key, place.word]);

  const choose = (offer: string) => {
    const next = `${text.slice(0, place.from)}${offer}${text.slice(caret)}`;
    const to = place.from + offer.length;
    setText(next);
    setOpen(false);
    queueMicrotask(() => {
      area.current?.focus();
      area.current?.setSelectionRange(to, to);
      setCaret(to);
    });
  };
  const onKey = (e: KeyboardEvent) => {
    if (e.key === "Enter" && !e.shiftKey && (!open || at < 0)) {
      setOpen(false);
      props.onRun(text);
    } else if (e.key === " " && e.ctrlKey) setOpen(true);
    else if (open && e.key === "ArrowDown") setAt(Math.min(at + 1, list.length - 1));
    else if (open && e.key === "ArrowUp") setAt(Math.max(at - 1, 0));
    else if (open && (e.key === "Enter" || (e.key === "Tab" && list.length > 0))) choose(list[Math.max(at, 0)] ?? "");
    else if (e.key === "Escape") setOpen(false);
    else return;
    e.preventDefault();
  };
  const said = text === props.value ? props.fault : typing;
  const fault = said === "" ? -1 : faultAt(text, said);
  const end = fault < 0 ? 0 : Math.max(fault + 1, fault + (/^[\w.:"-]+/.exec(text.slice(fault))?.[0].length ?? 1));
  return (
    <div class="editor">
      <div class="editor-box">
        <div class="editor-text">
        <pre class="editor-marks" aria-hidden="true">
          {fault >= 0 && (
            <>
              {text.slice(0, fault)}
              <mark>{text.slice(fault, end) || " "}</mark>
              {text.slice(end)}
            </>
          )}
        </pre>
        <textarea
          ref={area}
          rows={Math.min(6, text.split("\n").length)}
          spellcheck={false}
          autocomplete="off"
          aria-label="TraceQL query"
          aria-invalid={said !== ""}
          role="combobox"
          aria-expanded={open && list.length > 0}
          aria-controls="offers"
          aria-autocomplete="list"
          {...(at >= 0 ? { "aria-activedescendant": `offer-${String(at)}` } : {})}
          value={text}
          onInput={(e) => {
            setText(e.currentTarget.value);
            setCaret(e.currentTarget.selectionStart);
            setOpen(true);
          }}
          onKeyUp={(e) => setCaret(e.currentTarget.selectionStart)}
          onClick={(e) => setCaret(e.currentTarget.selectionStart)}
          onBlur={() => setTimeout(() => setOpen(false), 150)}
          onKeyDown={onKey}
        />
        </div>
        <button type="button" class="main" onClick={() => props.onRun(text)}>
          Search
        </button>
      </div>
      {said !== "" && text !== props.value && (
        <p class="note bad" role="status">
          {visible(said)}
        </p>
      )}
      {open && list.length > 0 && (
        <ul class="offers" role="listbox" id="offers" aria-label={place.kind === "value" ? `Values of ${place.key}` : "What may come next"}>
          {list.map((o, i) => (
            <li key={o} id={`offer-${String(i)}`} role="option" aria-selected={i === at} onMouseDown={(e) => { e.preventDefault(); choose(o); }}>
              <bdi>{visible(o)}</bdi>
            </li>
          ))}
          {more !== "" && <li class="more" role="presentation">{more}</li>}
        </ul>
      )}
    </div>
  );
}
