import { useEffect, useState } from "preact/hooks";
import { ApiError, send } from "../api/client";
import { needCredentials } from "../api/token";
import { visible } from "../format/safe_text";
import { CopyButton } from "../parts/copy_button";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";
import { typeWords } from "../trace/span_profile";
import { BreakdownBar, PartLegend } from "../why/parts";
import { useArrivals } from "./arrivals";
import type { Recipe } from "./recipes";

/** Names in a sentence: "a, b and 3 more". */
function listed(names: readonly string[]): string {
  const more = names.length - 2;
  return names.slice(0, 2).map(visible).join(", ") + (more > 0 ? ` and ${String(more)} more` : "");
}

function Step(props: { title: string; arrived: string; waits: string }) {
  const isDone = props.arrived !== "";
  return (
    <li class={isDone ? "done" : undefined}>
      <span class="step-tick" aria-hidden="true">{isDone ? "✓" : ""}</span>
      <b>{props.title}</b> <span class={isDone ? "good" : "f3"}>{isDone ? props.arrived : props.waits}</span>
    </li>
  );
}

/** What has arrived since the page was opened: no reload is needed to see the first span. */
function Steps() {
  const a = useArrivals();
  return (
    <>
      <ol class="steps" aria-label="First steps">
        <Step title="Send traces" arrived={a.spans.length > 0 ? `Spans arrive from ${listed(a.spans)}.` : ""} waits="Waiting for the first span." />
        <Step title="Send profiles" arrived={a.profiles.length > 0 ? `Profiles arrive: ${listed(a.profiles.map(typeWords))}.` : ""} waits="Waiting for the first profile." />
        <Step title="Link them" arrived={a.linked === "" ? "" : `Spans of ${visible(a.linked)} have samples.`} waits="Waiting for samples that belong to a span." />
      </ol>
      {a.spans.length > 0 ? (
        <button type="button" class="btn main" onClick={() => location.reload()}>
          Open the services
        </button>
      ) : (
        a.profiles.length > 0 && (
          <ViewLink to={{ view: "profiles" }} class="btn main">
            Open the profiles
          </ViewLink>
        )
      )}
    </>
  );
}

const EXAMPLE = [
  { part: "on_cpu", words: "running", ns: 26e7 },
  { part: "lock", words: "waiting for a lock", ns: 18e7 },
  { part: "net", words: "waiting for the network", ns: 6e7 },
];
const FRAMES: readonly (readonly (readonly [name: string, share: number])[])[] = [[["handleOrder", 100]], [["checkPriceRules", 58], ["writeJson", 30]], [["regexMatch", 44], ["parse", 14]]];

/** What a span looks like once traces and profiles are linked; the figures are invented. */
function Example() {
  return (
    <figure class="card example" aria-label="Example of a span with its profile">
      <div class="why">
        <p class="says">
          <b>500 ms</b>: <b>260 ms</b> running, of that <Name text="regexMatch" class="mono b" /> <b>190 ms</b>; <b>180 ms</b> waiting for a lock, <b>60 ms</b> for the network.
        </p>
      </div>
      <BreakdownBar parts={EXAMPLE} whole={5e8} isTall={true} />
      <p class="legend" aria-hidden="true">
        <PartLegend has={new Set(["cpu", "lock", "net"])} />
      </p>
      <div class="frames" aria-hidden="true">
        {FRAMES.map((row, i) => (
          <div key={i}>
            {row.map(([name, share]) => (
              <i key={name} class="mono" style={{ width: `${String(share)}%` }}>
                {name}
              </i>
            ))}
          </div>
        ))}
      </div>
      <figcaption class="f3 sm">An example: each span answers why it is slow, with its own flame graph.</figcaption>
    </figure>
  );
}

/** First steps for an empty store: commands to copy, with the address of this server, and what has arrived. */
export function FirstUse() {
  const url = useUrl();
  const [isBusy, setBusy] = useState(false);
  // The page may remove this component when the first spans arrive: sending the rest of the demo continues.
  const load = () => {
    setBusy(true);
    const { signal } = new AbortController();
    import("./demo_data")
      .then((m) => m.loadDemo((path, body) => send(path, {}, body, signal)))
      .then(() => location.reload())
      .catch((e: unknown) => {
        setBusy(false);
        if (e instanceof ApiError && e.status === 401) needCredentials(e.message);
        setFailed(`The demo could not be loaded: ${e instanceof Error ? e.message : String(e)}`);
      });
  };
  const [recipes, setRecipes] = useState<readonly Recipe[]>([]);
  const [failed, setFailed] = useState("");
  // Loaded on demand, since it is used at most once per store.
  useEffect(() => void import("./recipes").then((m) => setRecipes(m.RECIPES)).catch((e: unknown) => setFailed(String(e))), []);
  const recipe = recipes.find((r) => r.name === url["language"]) ?? recipes[0];
  // The server accepts OTLP on every address, so the address of this page works unchanged.
  const text = recipe?.text(location.origin) ?? "";
  return (
    <div class="first-use">
      <div class="first-steps">
        <h2>Nothing here yet</h2>
        <p>
          Send traces over OTLP, and profiles with any supported profiler. When samples carry span ids, every span gets its flame graph.
        </p>
        <Steps />
        {failed !== "" && <p class="note bad">{visible(failed)}</p>}
        <div class="tabs" role="tablist" aria-label="Language">
          {recipes.map((r) => (
            <button type="button" role="tab" key={r.name} aria-selected={r === recipe} onClick={() => change({ language: r.name })}>
              {r.name}
            </button>
          ))}
        </div>
        <div class="code-box" role="tabpanel" aria-label={recipe?.name}>
          <CopyButton text={text} />
          <pre>
            <code>{text}</code>
          </pre>
        </div>
        <div class="row">
          <button type="button" class="btn" disabled={isBusy} onClick={load}>
            {isBusy ? "Loading the demo…" : "Load the demo"}
          </button>
          <span class="note">Half an hour of made-up requests of the services demo-gateway, demo-orders and demo-payments is written to this server.</span>
        </div>
      </div>
      <Example />
    </div>
  );
}
