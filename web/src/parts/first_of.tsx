// A list that begins with some of its rows, says how many more there are, and shows them on request.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { count } from "../format/units";

export function FirstOf<T>(props: { rows: readonly T[]; max: number; things: string; children: (row: T) => ComponentChildren }) {
  const { rows, max } = props;
  const [shown, setShown] = useState(max);
  const more = rows.length - shown;
  return (
    <>
      {rows.slice(0, shown).map(props.children)}
      {more > 0 && (
        <p class="note">
          {count(shown)} of {count(rows.length)} {props.things}.{" "}
          <button type="button" onClick={() => setShown(shown + max)}>
            Show {count(Math.min(more, max))} more
          </button>
        </p>
      )}
    </>
  );
}
