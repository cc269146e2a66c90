// What the server requests profiles by itself, and how that went.

import { useEffect } from "preact/hooks";
import { get } from "../api/client";
import { useAsk } from "../api/use_ask";
import { visible } from "../format/safe_text";
import { Name } from "../parts/name";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame, Failure } from "../parts/states";

interface ScrapeTarget {
  readonly labels: Readonly<Record<string, string>>;
  readonly scrapePool: string;
  readonly scrapeUrl: string;
  readonly lastError: string;
  readonly lastScrape: string;
  readonly lastScrapeDuration: number;
  readonly health: string;
  readonly scrapeInterval: string;
  readonly samples: number;
}

interface Discovery {
  readonly scrapePool: string;
  readonly source: string;
  readonly lastError: string;
}

interface Targets {
  readonly data: { readonly activeTargets: readonly ScrapeTarget[]; readonly discovery: readonly Discovery[] };
}

const REFRESH_MS = 5000;

const COLUMNS: readonly Column<ScrapeTarget>[] = [
  { key: "service", title: "Service", by: (t) => t.labels["service_name"] ?? "", cell: (t) => <Name text={t.labels["service_name"] ?? ""} /> },
  { key: "url", title: "Address", isWide: true, by: (t) => t.scrapeUrl, cell: (t) => <code>{visible(t.scrapeUrl)}</code> },
  { key: "health", title: "State", by: (t) => t.health, cell: (t) => (t.health === "down" ? <span class="bad">down</span> : visible(t.health)) },
  { key: "samples", title: "Samples", hint: "of the last answer", isNumber: true, by: (t) => t.samples, cell: (t) => String(t.samples) },
  { key: "last", title: "Last request", by: (t) => t.lastScrape, cell: (t) => (t.health === "unknown" ? "not yet" : <time dateTime={t.lastScrape}>{visible(t.lastScrape.slice(11, 19))}</time>) },
  { key: "every", title: "Every", by: (t) => t.scrapeInterval, cell: (t) => visible(t.scrapeInterval) },
  { key: "error", title: "Problem", isWide: true, by: (t) => t.lastError, cell: (t) => (t.lastError === "" ? "" : <span class="bad">{visible(t.lastError)}</span>) },
];

/** Nothing where nothing is scraped. */
export function Scraped() {
  const answer = useAsk<Targets>("targets", (s) => get("/api/v1/targets", {}, s));
  const { again } = answer;
  useEffect(() => {
    const timer = setInterval(again, REFRESH_MS);
    return () => clearInterval(timer);
  }, [again]);
  return (
    <AskedFrame what="the targets" asked={answer}>
      {(d) => d.data.activeTargets.length + d.data.discovery.length > 0 && (
        <article class="card">
          <h2 class="row pad">Scraped by this server</h2>
          {d.data.discovery
            .filter((o) => o.lastError !== "")
            .map((o) => (
              <Failure key={o.scrapePool + o.source} sentence={`Targets of ${o.scrapePool}: ${o.lastError}`} />
            ))}
          <div class="table-scroll">
            <SortTable label="Scraped targets" columns={COLUMNS} rows={d.data.activeTargets} rowKey={(t) => t.scrapePool + t.scrapeUrl + JSON.stringify(t.labels)} first="health" />
          </div>
        </article>
      )}
    </AskedFrame>
  );
}
