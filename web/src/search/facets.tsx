import { get } from "../api/client";
import type { MetricAnswer } from "../api/types";
import { useAsk } from "../api/use_ask";
import { visible } from "../format/safe_text";
import { count, countOf } from "../format/units";
import { askedSeconds, type Range } from "../state/range";
import { plain } from "../trace/rows";

const OF: readonly (readonly [string, string])[] = [
  ["resource.service.name", "Service"],
  ["name", "Name"],
  ["status", "Status"],
  ["resource.service.version", "Version"],
];
const SHOWN = 6;
const DAY_MS = 86400e3;

interface Facet {
  readonly key: string;
  readonly words: string;
  readonly values: readonly { text: string; condition: string; n: number }[];
}

async function facetsOf(inner: string, range: Range, signal: AbortSignal): Promise<Facet[]> {
  const last = { fromMs: Math.max(range.fromMs, range.untilMs - DAY_MS + 120e3), untilMs: range.untilMs };
  return Promise.all(
    OF.map(async ([key, words]) => {
      const a = await get<MetricAnswer>("/api/metrics/query", { q: `{ ${inner} } | count_over_time() by (${key})`, ...askedSeconds(last) }, signal);
      const values = (a.data.series ?? [])
        .map((s) => {
          const v = s.labels.find((l) => l.key === key)?.value;
          const text = plain(v);
          return { text, condition: key === "status" ? `status = ${text}` : `${key} = ${JSON.stringify(text)}`, n: s.value ?? 0 };
        })
        .filter((v) => v.n > 0 && v.text !== "" && v.text !== "nil")
        .sort((x, y) => y.n - x.n || (x.text < y.text ? -1 : 1));
      return { key, words, values };
    }),
  );
}

/** What the spans of a query are, with counts; a click adds the condition. */
export function Facets(props: { inner: string; range: Range; onAdd: (condition: string) => void }) {
  const { inner, range } = props;
  const facets = useAsk<Facet[]>(JSON.stringify(["facets", inner, range]), async (s) => ({ data: await facetsOf(inner, range, s), partial: "" }));
  if (facets.error) return <p class="note bad">What these spans are could not be counted: {visible(facets.error.message)}</p>;
  const shown = (facets.data ?? []).filter((f) => f.values.length > 1);
  if (shown.length === 0) return null;
  return (
    <div class="facets" role="group" aria-label="Narrow by" aria-busy={facets.isLoading}>
      {shown.map((f) => (
        <div key={f.key} class="facet">
          <span class="f3 sm">{f.words}</span>
          {f.values.slice(0, SHOWN).map((v) => (
            <button type="button" class="chip" key={v.text} title={`${countOf(v.n, "span")}; adds ${visible(v.condition)}`} onClick={() => props.onAdd(v.condition)}>
              <bdi class="name">{visible(v.text)}</bdi> <span class="f3">{count(v.n)}</span>
            </button>
          ))}
          {f.values.length > SHOWN && <span class="f3 sm">and {count(f.values.length - SHOWN)} more</span>}
        </div>
      ))}
    </div>
  );
}
