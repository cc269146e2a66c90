// What each of some traces spent most of its time with: half a sentence and a bar, asked one after the other.

import { useEffect, useState } from "preact/hooks";
import { ApiError, get } from "../api/client";
import type { Explain } from "../api/types";
import { visible } from "../format/safe_text";
import { BreakdownBar } from "./parts";
import { Sentence } from "./sentence";

export interface Cause {
  /** The same of traces whose largest part is spent in the same function or child span */
  readonly key: string;
  /** "60 ms running, of that 52 ms applyLegacyTax in price" */
  readonly words: string;
  readonly explain: Explain;
}

/** "60 ms (41 ms to 74 ms) f" without what stands in parentheses: for half a sentence, beside the whole one. */
export function withoutIntervals(sentence: string): string {
  return sentence.replace(/ \([^()]* to [^()]*\)/g, "");
}

/** The first clause of the answer, without its intervals: the answer itself is a click away. */
export function causeOf(e: Explain): Cause {
  const most = [...e.parts].sort((a, b) => b.ns - a.ns)[0];
  const where = most?.functions?.[0]?.function ?? most?.children?.[0]?.name ?? "";
  const said = e.sentence.replace(/^[^:]*: /, "").split("; ")[0] ?? "";
  return { key: `${most?.part ?? ""} ${where}`, words: withoutIntervals(said), explain: e };
}

export type Causes = ReadonlyMap<string, Cause | ApiError>;

const AT_ONCE = 2;

/** `ids` of traces; answers come in one by one. */
export function useCauses(ids: readonly string[]): Causes {
  const [known, setKnown] = useState<Causes>(new Map());
  const key = ids.join(" ");
  useEffect(() => {
    const stop = new AbortController();
    const todo = ids.filter((id) => !known.has(id));
    const work = async () => {
      for (let trace = todo.shift(); trace !== undefined; trace = todo.shift()) {
        const id = trace;
        const told = await get<Explain>("/api/v1/explain", { trace: id }, stop.signal).then((a) => causeOf(a.data)).catch((e: unknown) => (e instanceof ApiError ? e : new ApiError(0, String(e), 0)));
        if (stop.signal.aborted) return;
        setKnown((now) => new Map(now).set(id, told));
      }
    };
    for (let i = 0; i < AT_ONCE; i++) void work();
    return () => stop.abort();
  }, [key]);
  return known;
}

/** The first row of each cause, in the rows' order; rows whose cause is not known yet stay. */
export function oneOfEach<T>(rows: readonly T[], idOf: (row: T) => string, causes: Causes): T[] {
  const seen = new Set<string>();
  return rows.filter((r) => {
    const c = causes.get(idOf(r));
    if (!c || c instanceof ApiError) return true;
    const isFirst = !seen.has(c.key);
    seen.add(c.key);
    return isFirst;
  });
}

export function CauseBar(props: { cause: Cause | ApiError | undefined }) {
  const { cause } = props;
  if (!cause || cause instanceof ApiError) return null;
  return <BreakdownBar parts={cause.explain.parts} whole={cause.explain.duration_ns} />;
}

export function CauseWords(props: { cause: Cause | ApiError | undefined }) {
  const { cause } = props;
  if (!cause) return <span class="faint">…</span>;
  if (cause instanceof ApiError) return <span class="bad sm">failed: {visible(cause.message)}</span>;
  return (
    <span class="cause" title={visible(cause.explain.sentence)}>
      <Sentence text={cause.words} parts={cause.explain.parts} />
    </span>
  );
}
