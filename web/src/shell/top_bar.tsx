import { useState } from "preact/hooks";
import { visible } from "../format/safe_text";
import { Icon, Logo } from "../parts/icon";
import { ViewLink } from "../parts/link";
import { RangeControl } from "../parts/range_control";
import { ServiceMark } from "../parts/service_mark";
import { useHeadNow } from "../state/head";
import { setTheme, theme, type Theme } from "../state/theme";
import { FindBox } from "./find_box";
import { entryOf } from "./rail";
import { ShareMenu } from "./share_menu";

function ThemeSwitch() {
  const [now, set] = useState<Theme>(theme());
  const next: Theme = now === "auto" ? "light" : now === "light" ? "dark" : "auto";
  return (
    <button
      type="button"
      class="btn icon s-hide"
      title={`Theme: ${now}; click for ${next}`}
      aria-label={`Theme: ${now}`}
      onClick={() => {
        setTheme(next);
        set(next);
      }}
    >
      <Icon name="theme" />
    </button>
  );
}

/** Where one is, what one searches for, which time, and how to tell others. None of it ever moves. */
export function TopBar(props: { view: string; onRefresh: () => void; services: readonly string[] }) {
  const head = useHeadNow();
  const entry = entryOf(props.view);
  const group = entry?.words ?? "Spanflame";
  return (
    <header class="topbar">
      <span class="phone-logo">
        <Logo />
      </span>
      <div class="crumb">
        {head.name !== "" && (
          <>
            <ViewLink to={{ view: entry?.view === "overview" ? undefined : entry?.view }}>{group}</ViewLink> <i aria-hidden="true">/</i>
          </>
        )}
        {head.service !== "" && <ServiceMark name={head.service} />}
        <h1 tabIndex={-1} id="page-title">
          <bdi>{head.name === "" ? group : visible(head.name)}</bdi>
        </h1>
      </div>
      <FindBox services={props.services} />
      <RangeControl onRefresh={props.onRefresh} />
      <ShareMenu />
      <ThemeSwitch />
    </header>
  );
}
