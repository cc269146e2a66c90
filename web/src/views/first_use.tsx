import { CopyButton } from "../parts/copy_button";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";
import { RECIPES } from "./recipes";

/** What to do when there is nothing yet: ready to copy, with this server's address. */
export function FirstUse() {
  const url = useUrl();
  const recipe = RECIPES.find((r) => r.name === url["language"]) ?? RECIPES[0];
  // OTLP is taken on every address, so the one this page came from works as it is.
  const text = recipe?.text(location.origin) ?? "";
  return (
    <div class="first-use">
      <h2>Nothing here yet</h2>
      <p>
        No spans arrived in this time range. Send traces over OTLP, and profiles with any supported profiler. When samples carry span ids, every
        span gets its flame graph.
      </p>
      <div class="tabs" role="tablist" aria-label="Language">
        {RECIPES.map((r) => (
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
      <p class="note">
        Or see it with made-up data first: <code>spanflame demo</code>.
      </p>
    </div>
  );
}
