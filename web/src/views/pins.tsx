// Traces that somebody, or an alert, keeps: until when, why, and the way to end that.

import { get, remove } from "../api/client";
import type { Pin } from "../api/types";
import { useAsk } from "../api/use_ask";
import { useChange, type Change } from "../api/use_change";
import { visible } from "../format/safe_text";
import { count, moment, nanoToMs } from "../format/units";
import { ViewLink } from "../parts/link";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame, Failure } from "../parts/states";
import { useHead } from "../state/head";

const minute = (ns: string) => moment(nanoToMs(ns)).slice(0, 16);

function columns(doing: Change): readonly Column<Pin>[] {
  return [
    {
      key: "trace",
      title: "Trace",
      by: (p) => p.traceId,
      cell: (p) => (
        <ViewLink to={{ view: "trace", id: p.traceId }} class="mono">
          {p.traceId}
        </ViewLink>
      ),
    },
    { key: "start", title: "Started", by: (p) => nanoToMs(p.startUnixNano), cell: (p) => minute(p.startUnixNano) },
    { key: "until", title: "Pinned until", by: (p) => nanoToMs(p.untilUnixNano), cell: (p) => minute(p.untilUnixNano) },
    { key: "note", title: "Note", isWide: true, by: (p) => p.note, cell: (p) => <bdi>{visible(p.note)}</bdi> },
    {
      key: "end",
      title: "",
      cell: (p) => (
        <button type="button" class="btn s" disabled={doing.isBusy} aria-label={`Remove the pin of ${p.traceId}`} onClick={() => doing.run((s) => remove(`/api/v1/pins/${p.traceId}`, s))}>
          Remove
        </button>
      ),
    },
  ];
}

export function PinsView() {
  const asked = useAsk<{ pins: readonly Pin[]; limit: number }>("pins", (s) => get("/api/v1/pins", {}, s));
  const doing = useChange(asked.again);
  useHead("Pins", "Pins");
  return (
    <section aria-labelledby="page-title">
      {doing.error && <Failure sentence={doing.error.message} status={doing.error.status} retryAfterS={doing.error.retryAfterS} />}
      <AskedFrame what="the pins" asked={asked} empty={(d) => (d.pins.length === 0 ? <p>No trace is pinned. Use the button Pin beside the name of a trace; alerts pin the traces they refer to.</p> : undefined)}>
        {(d) => (
          <div class="card">
            <div class="toolbar">
              <h2>Pinned traces</h2>
              <span class="f3">
                {count(d.pins.length)} of at most {count(d.limit)}
              </span>
            </div>
            <div class="table-scroll">
              <SortTable label="Pins" columns={columns(doing)} rows={d.pins} rowKey={(p) => p.traceId} first="until" />
            </div>
          </div>
        )}
      </AskedFrame>
    </section>
  );
}
