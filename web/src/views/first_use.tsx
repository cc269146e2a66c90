import { useEffect, useState } from "preact/hooks";
import { ApiError, send } from "../api/client";
import { needCredentials } from "../api/token";
import { visible } from "../format/safe_text";
import { CopyButton } from "../parts/copy_button";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";
import type { Recipe } from "./recipes";

/** First steps for an empty store: commands to copy, with the address of this server. */
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
