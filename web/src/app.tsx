import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { ViewLink } from "./parts/link";
import { RangeControl } from "./parts/range_control";
import { SettingsButton } from "./parts/settings_dialog";
import { Empty } from "./parts/states";
import { TokenPrompt } from "./parts/token_prompt";
import { rangeOf, type Range } from "./state/range";
import { setTheme, theme, type Theme } from "./state/theme";
import type { Params } from "./state/url";
import { useUrl } from "./state/use_url";
import { CollectorsView } from "./views/collectors";
import { CoverageView } from "./views/coverage";
import { Compare } from "./views/compare";
import { FindingsView } from "./views/findings";
import { FrameSpansView } from "./views/frame_spans";
import { Overview } from "./views/overview";
import { Profiles } from "./views/profiles";
import { Search } from "./views/search";
import { ServiceView } from "./views/service";
import { TraceView } from "./views/trace";

const VIEWS: readonly (readonly [string, string])[] = [
  ["overview", "Services"],
  ["search", "Search"],
  ["profiles", "Profiles"],
  ["compare", "Compare"],
  ["findings", "Findings"],
  ["coverage", "Coverage"],
  ["collectors", "Collectors"],
];

function ThemeSwitch() {
  const [now, set] = useState<Theme>(theme());
  const next: Theme = now === "auto" ? "light" : now === "light" ? "dark" : "auto";
  return (
    <button
      type="button"
      title={`Theme: ${now}; click for ${next}`}
      aria-label={`Theme: ${now}`}
      onClick={() => {
        setTheme(next);
        set(next);
      }}
    >
      {now === "auto" ? "◐" : now === "light" ? "☀" : "☾"}
    </button>
  );
}

function viewOf(url: Params, range: Range) {
  switch (url["view"] ?? "overview") {
    case "overview":
      return <Overview range={range} />;
    case "service":
      return <ServiceView range={range} />;
    case "search":
      return <Search range={range} />;
    case "compare":
      return <Compare range={range} />;
    case "profiles":
      return <Profiles range={range} />;
    case "coverage":
      return <CoverageView range={range} />;
    case "collectors":
      return <CollectorsView />;
    case "findings":
      return <FindingsView range={range} />;
    case "spans":
      return <FrameSpansView range={range} />;
    case "trace":
      return <TraceView range={range} />;
    default:
      return (
        <Empty>
          <p>There is no such view. The link may be cut, or from a newer version.</p>
          <ViewLink to={{}}>Go to the services</ViewLink>
        </Empty>
      );
  }
}

export function App() {
  const url = useUrl();
  // "now" moves only when asked to: a view's questions all speak of one range.
  const [nowMs, setNowMs] = useState(Date.now());
  const refresh = useCallback(() => setNowMs(Date.now()), []);
  const { from, until } = url;
  // A view that is opened later than a few seconds after the last looks at the range anew.
  useEffect(() => setNowMs((was) => (Date.now() - was > 5000 ? Date.now() : was)), [from, until, url["view"]]);
  const range = useMemo(() => rangeOf({ from: from ?? "", until: until ?? "" }, nowMs), [from, until, nowMs]);
  const current = url["view"] ?? "overview";
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="top">
        <ViewLink to={{}} class="brand">
          <span aria-hidden="true" class="mark" />
          Spanflame
        </ViewLink>
        <nav aria-label="Views">
          {VIEWS.map(([view, title]) => (
            <ViewLink key={view} to={{ view: view === "overview" ? undefined : view }} current={current === view}>
              {title}
            </ViewLink>
          ))}
        </nav>
        <span class="spring" />
        <RangeControl onRefresh={refresh} />
        <SettingsButton />
        <ThemeSwitch />
      </header>
      <main id="main" tabIndex={-1}>
        {viewOf(url, range)}
      </main>
      <TokenPrompt />
    </>
  );
}
