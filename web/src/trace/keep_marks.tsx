// What became of the samples of a trace: a mark where they were removed, and the pin that keeps them.

import { useState } from "preact/hooks";
import { get, remove, send } from "../api/client";
import type { Keep, KeptTrace, Pin } from "../api/types";
import { useAsk } from "../api/use_ask";
import { useChange } from "../api/use_change";
import { visible } from "../format/safe_text";
import { moment, nanoToMs } from "../format/units";
import { ViewLink } from "../parts/link";
import { Popover } from "../parts/popover";
import { Failure } from "../parts/states";

const LENGTHS: readonly (readonly [string, string])[] = [
  ["1d", "1 day"],
  ["7d", "7 days"],
  ["30d", "30 days"],
  ["90d", "90 days"],
  ["365d", "1 year"],
];

/** "rule set 3, hour 2026-11-17 02:00" */
function ruleWords(keep: Keep): string {
  const hour = keep.hourUnixNano === undefined ? "" : `, hour ${moment(nanoToMs(keep.hourUnixNano)).slice(0, 16)}`;
  return `rule set ${String(keep.ruleSet ?? 0)}${hour}`;
}

/** A mark on what lost its samples by outcome, with the rule; nothing on all others. */
export function ThinnedMark(props: { keep: Keep | undefined }) {
  if (props.keep?.state !== "thinned") return null;
  return (
    <span class="chip warn" title={`No rule kept this request, and it is not in the baseline (${ruleWords(props.keep)}): its samples were removed. The totals of its services have them.`}>
      thinned · {ruleWords(props.keep)}
    </span>
  );
}

function PinForm(props: { isBusy: boolean; onPin: (length: string, note: string) => void }) {
  const [length, setLength] = useState("7d");
  const [note, setNote] = useState("");
  return (
    <form
      class="ask-form"
      onSubmit={(e) => {
        e.preventDefault();
        props.onPin(length, note);
      }}
    >
      <p class="f2">Keeps the spans and samples of this trace, whatever their age.</p>
      <label>
        For
        <select value={length} onChange={(e) => setLength(e.currentTarget.value)}>
          {LENGTHS.map(([key, words]) => (
            <option key={key} value={key}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <label>
        Note
        <input value={note} maxLength={200} placeholder="incident 7" onInput={(e) => setNote(e.currentTarget.value)} />
      </label>
      <button type="submit" class="btn main" disabled={props.isBusy}>
        Pin this trace
      </button>
    </form>
  );
}

function Pinned(props: { pin: Pin; isBusy: boolean; onRemove: () => void }) {
  return (
    <div class="ask-form">
      <p>
        Pinned until {moment(nanoToMs(props.pin.untilUnixNano)).slice(0, 16)}
        {props.pin.note !== "" && `: ${visible(props.pin.note)}`}
      </p>
      <ViewLink to={{ view: "pins" }} class="link">
        All pins
      </ViewLink>
      <button type="button" class="btn" disabled={props.isBusy} onClick={props.onRemove}>
        Remove the pin
      </button>
    </div>
  );
}

/** Of a trace: whether it was thinned, and the button that pins it. */
export function TraceKeep(props: { traceId: string }) {
  const path = `/api/v1/keep/${props.traceId}`;
  const pins = `/api/v1/pins/${props.traceId}`;
  const asked = useAsk<KeptTrace>(path, (s) => get(path, {}, s), true);
  const doing = useChange(asked.again);
  const pin = asked.data?.pin;
  return (
    <>
      <ThinnedMark keep={asked.data?.keep} />
      <Popover label={pin ? "Pinned" : "Pin"} panel="Pin of this trace" class="btn s" button={pin ? "Pinned" : "Pin"} title={pin ? `until ${moment(nanoToMs(pin.untilUnixNano)).slice(0, 16)}` : "Keep this trace and its samples"}>
        {() => (
          <>
            {doing.error && <Failure sentence={doing.error.message} status={doing.error.status} retryAfterS={doing.error.retryAfterS} />}
            {asked.error && <Failure sentence={asked.error.message} status={asked.error.status} retryAfterS={asked.error.retryAfterS} again={asked.again} />}
            {pin ? (
              <Pinned pin={pin} isBusy={doing.isBusy} onRemove={() => doing.run((s) => remove(pins, s))} />
            ) : (
              <PinForm isBusy={doing.isBusy} onPin={(length, note) => doing.run((s) => send<Pin>(pins, { for: length, note }, {}, s))} />
            )}
          </>
        )}
      </Popover>
    </>
  );
}
