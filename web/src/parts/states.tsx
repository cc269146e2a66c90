// Loading, empty, partial and error: every view shows them the same way.

import type { ComponentChildren } from "preact";
import type { Asked } from "../api/use_ask";
import { visible } from "../format/safe_text";

export function Failure(props: { sentence: string; status?: number; retryAfterS?: number; again?: () => void }) {
  const busy = props.status === 429 || props.status === 503;
  return (
    <div class="state error" role="alert">
      <p>
        {busy ? "The server is busy. " : ""}
        {visible(props.sentence)}
        {props.retryAfterS ? ` It asks to be tried again in ${String(props.retryAfterS)} s.` : ""}
      </p>
      {props.again && (
        <button type="button" onClick={props.again}>
          Try again
        </button>
      )}
    </div>
  );
}

export function Empty(props: { children: ComponentChildren }) {
  return (
    <div class="state empty" role="status">
      {props.children}
    </div>
  );
}

export function Progress(props: { isLoading: boolean; isSlow: boolean; onCancel?: () => void }) {
  return (
    <div class={props.isLoading ? "progress on" : "progress"} role="progressbar" aria-hidden={!props.isLoading} aria-label="loading">
      {props.isSlow && <span class="progress-words">Still working…</span>}
    </div>
  );
}

/** The frame around one query's answer. */
export function AskedFrame<T>(props: { asked: Asked<T>; empty?: (data: T) => ComponentChildren; children: (data: T) => ComponentChildren }) {
  const { asked } = props;
  const nothing = asked.data !== undefined && props.empty ? props.empty(asked.data) : undefined;
  return (
    <div class="asked" aria-busy={asked.isLoading}>
      <Progress isLoading={asked.isLoading} isSlow={asked.isSlow} />
      {asked.error && (
        <Failure sentence={asked.error.message} status={asked.error.status} retryAfterS={asked.error.retryAfterS} again={asked.again} />
      )}
      {asked.partial !== "" && !asked.error && <p class="note warn">This answer is partial: {visible(asked.partial)}.</p>}
      {asked.data === undefined && !asked.error && <div class="state loading">{asked.isSlow ? "Still working…" : "Loading…"}</div>}
      {asked.data !== undefined && (nothing ? <Empty>{nothing}</Empty> : props.children(asked.data))}
    </div>
  );
}
