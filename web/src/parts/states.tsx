// Loading, empty, partial and error: every view shows them the same way.

import type { ComponentChildren } from "preact";
import type { Asked } from "../api/use_ask";
import { visible } from "../format/safe_text";
import { clock } from "../format/units";

function withStop(text: string): string {
  const t = visible(text).trim();
  return /[.!?…]$/.test(t) ? t : `${t}.`;
}

/** What failed, what the server said, what is still there, and a button that asks again. `keptMs`: the time of the answer that stays on screen. */
export function Failure(props: { sentence: string; what?: string; status?: number; retryAfterS?: number; keptMs?: number; again?: () => void }) {
  const busy = props.status === 429 || props.status === 503;
  return (
    <div class="state error" role="alert">
      <p>
        {props.what !== undefined && <b>Could not load {props.what}: </b>}
        {busy ? `the server is busy (${String(props.status)}): ` : ""}
        {withStop(props.sentence)}
        {props.retryAfterS ? ` It asks to be tried again in ${String(props.retryAfterS)} s.` : ""}
        {props.keptMs ? ` Shown below is the answer of ${clock(props.keptMs, 0)}.` : ""}
      </p>
      {props.again && (
        <button type="button" class="btn s" onClick={props.again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** The shape of what is being loaded. */
export function Skeleton() {
  return (
    <span class="skeleton" aria-hidden="true">
      <i />
      <i />
      <i />
    </span>
  );
}

export function Empty(props: { children: ComponentChildren }) {
  return (
    <div class="state empty" role="status">
      {props.children}
    </div>
  );
}

/** A line at the top of the page while something loads. */
export function Progress(props: { isLoading: boolean }) {
  return <div class={props.isLoading ? "progress on" : "progress"} role="progressbar" aria-hidden={!props.isLoading} aria-label="loading" />;
}

type Loading = Pick<Asked<unknown>, "isSlow" | "isLong" | "cancel">;

/** Words after a second, and a way out after five. */
export function SlowWords(props: { asked: Loading }) {
  const { asked } = props;
  if (!asked.isSlow) return null;
  return (
    <p class="slow-words" role="status">
      Still working…{" "}
      {asked.isLong && (
        <button type="button" class="btn s" onClick={asked.cancel}>
          Cancel
        </button>
      )}
    </p>
  );
}

/** The frame around one query's answer; `what` names it where it fails. */
export function AskedFrame<T>(props: { asked: Asked<T>; what?: string; empty?: (data: T) => ComponentChildren; children: (data: T) => ComponentChildren }) {
  const { asked } = props;
  const has = asked.data !== undefined;
  const nothing = asked.data !== undefined && props.empty ? props.empty(asked.data) : undefined;
  return (
    <div class="asked" aria-busy={asked.isLoading}>
      <Progress isLoading={asked.isLoading} />
      {asked.error && (
        <Failure what={props.what ?? "this part"} sentence={asked.error.message} status={asked.error.status} retryAfterS={asked.error.retryAfterS} {...(has ? { keptMs: asked.atMs } : {})} again={asked.again} />
      )}
      {asked.partial !== "" && !asked.error && (
        <p class="note">
          <span class="chip warn">Partial</span> {withStop(asked.partial)}{" "}
          <button type="button" class="btn s" onClick={asked.again}>
            Try again
          </button>
        </p>
      )}
      {has && asked.isLoading && <SlowWords asked={asked} />}
      {!has && !asked.error && (
        <div class="state loading">
          <Skeleton />
          <SlowWords asked={asked} />
        </div>
      )}
      {asked.data !== undefined && (nothing ? <Empty>{nothing}</Empty> : asked.error ? <div class="stale">{props.children(asked.data)}</div> : props.children(asked.data))}
    </div>
  );
}
