import { useEffect, useState } from "preact/hooks";
import { ApiError, send } from "../api/client";
import { needCredentials } from "../api/token";
import { visible } from "../format/safe_text";
import { CopyButton } from "../parts/copy_button";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";
import type { Recipe } from "./recipes";

/** What to do when there is nothing yet: ready to copy, with this server's address. */
export function FirstUse() {
  const url = useUrl();
  const [isBusy, setBusy] = useState(false);
  // The first spans to arrive may take this part of the page away: the rest of the demo is sent all the same.
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
  // Needed once in the life of a store: not a part of what every view loads.
  useEffect(() => void import("./recipes").then((m) => setRecipes(m.RECIPES)).catch((e: unknown) => setFailed(String(e))), []);
  const recipe = recipes.find((r) => r.name === url["language"]) ?? recipes[0];
  // OTLP is taken on every address, so the one this page came from works as it is.
  const text = recipe?.text(location.origin) ?? "";
  return (
    <div class="first-use">
      <h2>Nothing here yet</h2>
      <p>
        No spans arrived in this time range. Send traces over OTLP, and profiles with any supported profiler. When samples carry span ids, every
        span gets its flame graph.
      </p>
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
  );
}
