import { get } from "../api/client";
import type { Found } from "../api/types";
import { useAsk } from "../api/use_ask";
import { visible } from "../format/safe_text";
import { duration, moment, nanoToMs, queryDuration } from "../format/units";
import { Fig } from "../parts/figure";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { Skeleton, SlowWords } from "../parts/states";
import { ServiceMark } from "../parts/service_mark";
import { askedSeconds, type Range } from "../state/range";
import { CauseBar, CauseWords, oneOfEach, useCauses } from "../why/causes";

const SHOWN = 5;
const READ = 100;
/** So many of the slowest are asked why; of those one of each cause is shown. */
const ASKED = 8;
const LEAST = 3;

interface Slow {
  readonly rows: readonly { id: string; name: string; service: string; ms: number; ns: number }[];
  readonly q: string;
  /** There may be slower ones: only the newest were read. */
  readonly isPart: boolean;
}

/** The slowest of each entry: many of one kind say no more than a few. */
async function slowest(range: Range, p99Ns: number, signal: AbortSignal): Promise<Slow> {
  // The quantile is an estimate: a little less, so that something is mostly above it.
  const q = `{ nestedSetParent < 0 && duration >= ${queryDuration(p99Ns * 0.85, Math.floor)} }`;
  const found = await get<Found>("/api/search", { q, limit: String(READ), spss: "1", ...askedSeconds(range) }, signal);
  const rows = (found.data.traces ?? []).map((t) => {
    const span = (t.spanSets?.[0] ?? t.spanSet)?.spans[0];
    return { id: t.traceID, name: t.rootTraceName ?? span?.name ?? "", service: t.rootServiceName ?? "", ms: nanoToMs(t.startTimeUnixNano), ns: Number(span?.durationNanos ?? "0") || (t.durationMs ?? 0) * 1e6 };
  });
  rows.sort((a, b) => b.ns - a.ns);
  const kinds = new Map<string, number>();
  const some = rows.filter((r) => {
    const n = (kinds.get(`${r.service}\0${r.name}`) ?? 0) + 1;
    kinds.set(`${r.service}\0${r.name}`, n);
    return n <= ASKED / 2;
  });
  return { rows: (some.length >= LEAST ? some : rows).slice(0, ASKED), q, isPart: rows.length >= READ };
}

/** `p99Ns` of the busiest entry; undefined: not known yet, 0: there are no requests. */
export function SlowRequests(props: { range: Range; p99Ns: number | undefined }) {
  const { range } = props;
  const p99Ns = props.p99Ns ?? 0;
  const asked = useAsk<Slow>(p99Ns > 0 ? `slowest ${JSON.stringify(range)} ${String(p99Ns)}` : "", async (s) => ({ data: await slowest(range, p99Ns, s), partial: "" }));
  const all = asked.data?.rows ?? [];
  const causes = useCauses(all.map((r) => r.id));
  const isKnown = all.every((r) => causes.has(r.id));
  const each = isKnown ? oneOfEach(all, (r) => r.id, causes) : all.slice(0, LEAST);
  const rows = [...each, ...all.filter((r) => !each.includes(r)).slice(0, Math.max(0, LEAST - each.length))].slice(0, SHOWN);
  return (
    <div class="card slow-requests">
      <header>
        <h2>Slow requests, one of each cause</h2>
        <span class="spring" />
        {asked.data && (
          <ViewLink to={{ view: "search", q: asked.data.q }} class="link sm">
            All traces past p99
          </ViewLink>
        )}
      </header>
      {asked.error && <p class="note bad pad">The slowest requests failed: {visible(asked.error.message)}</p>}
      {!asked.data && !asked.error && props.p99Ns !== 0 && (
        <div class="state loading">
          <Skeleton />
          <SlowWords asked={asked} />
        </div>
      )}
      {(asked.data?.rows.length === 0 || props.p99Ns === 0) && <p class="state">No requests in this time.</p>}
      {asked.data && asked.data.rows.length > 0 && (
        <table aria-label="Slowest requests">
          <tbody>
            {rows.map((r) => (
              <tr key={r.id}>
                <td class="f3 num nw">{moment(r.ms).slice(11, 19)}</td>
                <td>
                  <ViewLink to={{ view: "trace", id: r.id }} class="service">
                    <ServiceMark name={r.service} />
                    <Name text={r.name} />
                  </ViewLink>
                </td>
                <td class="number">
                  <Fig text={duration(r.ns)} />
                </td>
                <td class="bar-cell s-hide">
                  <CauseBar cause={causes.get(r.id)} />
                </td>
                <td class="wide">
                  <CauseWords cause={causes.get(r.id)} />
                </td>
                <td class="number">
                  <ViewLink to={{ view: "trace", id: r.id, pane: "why" }} class="btn s" label={`Why slow? ${visible(r.name)}, ${duration(r.ns)}`}>
                    Why slow?
                  </ViewLink>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {asked.data?.isPart && <p class="note pad">Of the newest {READ} past p99; older ones may be slower.</p>}
    </div>
  );
}
