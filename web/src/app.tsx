import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ViewLink } from "./parts/link";
import { Empty } from "./parts/states";
import { TokenPrompt } from "./parts/token_prompt";
import { DemoBar } from "./shell/demo_bar";
import { Keys } from "./shell/keys";
import { Rail } from "./shell/rail";
import { TopBar } from "./shell/top_bar";
import { useKnownServices } from "./shell/use_known_services";
import { rangeOf, type Range } from "./state/range";
import type { Params } from "./state/url";
import { useUrl } from "./state/use_url";
import { AlertsView } from "./views/alerts";
import { CollectorsView } from "./views/collectors";
import { CoverageView } from "./views/coverage";
import { Compare } from "./views/compare";
import { DeploysView } from "./views/deploys";
import { FindingsView } from "./views/findings";
import { FrameSpansView } from "./views/frame_spans";
import { MapView } from "./views/map";
import { Overview } from "./views/overview";
import { PinsView } from "./views/pins";
import { Profiles } from "./views/profiles";
import { Search } from "./views/search";
import { ServiceView } from "./views/service";
import { TraceView } from "./views/trace";

function viewOf(url: Params, range: Range) {
  switch (url["view"] ?? "overview") {
    case "overview":
      return <Overview range={range} />;
    case "service":
      return <ServiceView range={range} />;
    case "map":
      return <MapView range={range} />;
    case "search":
      return <Search range={range} />;
    case "compare":
      return <Compare range={range} />;
    case "profiles":
      return <Profiles range={range} />;
    case "coverage":
      return <CoverageView range={range} />;
    case "findings":
      return <FindingsView range={range} />;
    case "alerts":
      return <AlertsView />;
    case "collectors":
      return <CollectorsView />;
    case "deploys":
      return <DeploysView range={range} />;
    case "spans":
      return <FrameSpansView range={range} />;
    case "pins":
      return <PinsView />;
    case "trace":
      return <TraceView range={range} />;
    default:
      return (
        <Empty>
          <p>There is no such view. The link may be truncated, or from a newer version.</p>
          <ViewLink to={{}} class="btn">
            Go to the services
          </ViewLink>
        </Empty>
      );
  }
}

/** Where each address was scrolled to, for the way back. */
const scrolled = new Map<string, number>();

/** The heading has the focus after a way to another view; the way back finds the place that was left. */
function useArrival(place: string): (e: Event) => void {
  const first = useRef(true);
  const came = useRef(false);
  useEffect(() => {
    const back = () => {
      came.current = true;
    };
    addEventListener("popstate", back);
    return () => removeEventListener("popstate", back);
  }, []);
  useEffect(() => {
    const main = document.getElementById("main");
    const to = came.current ? (scrolled.get(location.search) ?? 0) : 0;
    came.current = false;
    if (first.current) {
      first.current = false;
      return undefined;
    }
    document.getElementById("page-title")?.focus({ preventScroll: true });
    if (main) main.scrollTop = to;
    if (to === 0) return undefined;
    // What is there has to be requested first; a few looks are enough.
    const timers = [100, 300, 800].map((ms) =>
      setTimeout(() => {
        if (main && main.scrollTop < to) main.scrollTop = to;
      }, ms),
    );
    return () => timers.forEach(clearTimeout);
  }, [place]);
  return (e) => {
    if (e.target instanceof Element && e.target.id === "main") scrolled.set(location.search, e.target.scrollTop);
  };
}

export function App() {
  const url = useUrl();
  // "now" moves only when asked to: a view's queries all speak of one range.
  const [nowMs, setNowMs] = useState(Date.now());
  const refresh = useCallback(() => setNowMs(Date.now()), []);
  const { from, until } = url;
  // A view that is opened later than a few seconds after the last examines the range again.
  useEffect(() => setNowMs((was) => (Date.now() - was > 5000 ? Date.now() : was)), [from, until, url["view"]]);
  const range = useMemo(() => rangeOf({ from: from ?? "", until: until ?? "" }, nowMs), [from, until, nowMs]);
  const current = url["view"] ?? "overview";
  const onScroll = useArrival([current, url["service"], url["id"], url["operation"]].join(" "));
  const services = useKnownServices();
  return (
    <div class="app">
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Rail view={current} />
      <TopBar view={current} onRefresh={refresh} services={services} />
      <main id="main" tabIndex={-1} class={`view-${current.replace(/\W/g, "")}`} onScroll={onScroll}>
        <DemoBar />
        {viewOf(url, range)}
      </main>
      <TokenPrompt />
      <Keys />
    </div>
  );
}
