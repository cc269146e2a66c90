// Labels as chips with a cross, and one more by a form that completes names and values from the store.

import { useEffect, useRef, useState } from "preact/hooks";
import { call } from "../api/client";
import { useAsk } from "../api/use_ask";
import { matchersOf, OPS, textOf, withMatcher, type Matcher, type Op } from "../format/labels";
import { visible } from "../format/safe_text";
import type { Range } from "../state/range";
import { Popover } from "./popover";

interface Names {
  names?: string[];
}

/** Of the store: longer lists are narrowed by typing. */
const MOST = 200;
const HIDDEN = /^(__|service_name$)/;

function Options(props: { id: string; of: readonly string[]; typed: string }) {
  const found = props.of.filter((v) => v.includes(props.typed));
  return (
    <datalist id={props.id}>
      {found.slice(0, MOST).map((v) => (
        <option key={v} value={v} />
      ))}
    </datalist>
  );
}

function Form(props: { id: string; selector: string; range: Range; onAdd: (m: Matcher) => void; close: () => void }) {
  const [name, setName] = useState("");
  const [op, setOp] = useState<Op>("=");
  const [value, setValue] = useState("");
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  const about = { start: String(Math.floor(props.range.fromMs)), end: String(Math.ceil(props.range.untilMs)), matchers: [props.selector] };
  const names = useAsk<Names>(`labels ${JSON.stringify(about)}`, (s) => call("LabelNames", about, s), true);
  const known = (names.data?.names ?? []).filter((n) => !HIDDEN.test(n));
  const isKnown = known.includes(name);
  const values = useAsk<Names>(isKnown ? `values ${name} ${JSON.stringify(about)}` : "", (s) => call("LabelValues", { ...about, name }, s), true);
  const found = isKnown ? (values.data?.names ?? []) : [];
  const failed = names.error ?? values.error;
  return (
    <form
      class="label-form"
      onSubmit={(e) => {
        e.preventDefault();
        if (!/^[a-zA-Z_][a-zA-Z0-9_.]*$/.test(name)) return;
        props.onAdd({ name, op, value });
        props.close();
      }}
    >
      <label>
        Label{" "}
        <input class="mono" list={`${props.id}-names`} value={name} required pattern="[a-zA-Z_][a-zA-Z0-9_.]*" ref={first} onInput={(e) => setName(e.currentTarget.value.trim())} />
      </label>
      <label>
        is{" "}
        <select value={op} onChange={(e) => setOp(e.currentTarget.value as Op)} aria-label="Operator">
          {OPS.map((o) => (
            <option key={o} value={o}>
              {o}
            </option>
          ))}
        </select>
      </label>
      <label>
        Value <input class="mono" list={`${props.id}-values`} value={value} onInput={(e) => setValue(e.currentTarget.value)} />
      </label>
      <Options id={`${props.id}-names`} of={known} typed={name} />
      <Options id={`${props.id}-values`} of={found} typed={value} />
      <button type="submit" class="btn main">
        Add
      </button>
      <p class="note" role="status">
        {failed ? `Labels could not be loaded: ${visible(failed.message)}` : isKnown ? `${String(found.length)} values of ${visible(name)}` : `${String(known.length)} labels: ${visible(known.slice(0, 8).join(", "))}${known.length > 8 ? ", …" : ""}`}
      </p>
    </form>
  );
}

/** `text` as in a selector, without braces; `selector` is whose labels are completed. */
export function LabelChips(props: { id: string; words: string; text: string; selector: string; range: Range; onChange: (text: string) => void }) {
  const list = matchersOf(props.text);
  if (list === undefined)
    return (
      <label class="row">
        {props.words} <input class="mono" size={32} defaultValue={props.text} key={props.text} onChange={(e) => props.onChange(e.currentTarget.value)} />
      </label>
    );
  return (
    <span class="row one" role="group" aria-label={props.words}>
      {list.map((m) => {
        const words = `${m.name} ${m.op} ${m.value === "" ? "(empty)" : m.value}`;
        return (
          <span class="chip acc" key={textOf([m])}>
            <bdi class="mono name">{visible(words)}</bdi>
            <button type="button" class="cross" aria-label={`Remove ${visible(words)}`} onClick={() => props.onChange(textOf(list.filter((o) => o !== m)))}>
              ×
            </button>
          </span>
        );
      })}
      <Popover label={`Add: ${props.words}`} panel={props.words} class="chip" button={list.length === 0 ? `+ ${props.words}` : "+"}>
        {(close) => <Form id={props.id} selector={props.selector} range={props.range} close={close} onAdd={(m) => props.onChange(textOf(withMatcher(list, m)))} />}
      </Popover>
    </span>
  );
}
