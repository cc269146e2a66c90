import { useState } from "preact/hooks";
import { useBadges, type Badges } from "./badges";
import { Icon, Logo, type IconName } from "../parts/icon";
import { ViewLink } from "../parts/link";
import { Popover } from "../parts/popover";
import { SettingsDialog } from "../parts/settings_dialog";

export interface Entry {
  readonly view: string;
  readonly words: string;
  readonly icon: IconName;
  /** Other views that belong to it */
  readonly holds: readonly string[];
}

const ASK: readonly Entry[] = [
  { view: "overview", words: "Services", icon: "services", holds: ["service", "map"] },
  { view: "search", words: "Traces", icon: "traces", holds: ["trace", "pins"] },
  { view: "profiles", words: "Profiles", icon: "profiles", holds: ["spans"] },
  { view: "compare", words: "Compare", icon: "compare", holds: [] },
];
const TOLD: readonly Entry[] = [
  { view: "findings", words: "Findings", icon: "findings", holds: [] },
  { view: "deploys", words: "Deploys", icon: "deploys", holds: [] },
  { view: "alerts", words: "Alerts", icon: "alerts", holds: [] },
];
const SYSTEM: readonly Entry[] = [
  { view: "coverage", words: "Coverage", icon: "coverage", holds: [] },
  { view: "collectors", words: "Collectors", icon: "collectors", holds: [] },
];
export const ENTRIES: readonly Entry[] = [...ASK, ...TOLD, ...SYSTEM];

export function entryOf(view: string): Entry | undefined {
  return ENTRIES.find((e) => e.view === view || e.holds.includes(view));
}

function Badge(props: { n: number; words: string }) {
  if (props.n === 0) return null;
  return (
    <span class="badge" title={`${String(props.n)} ${props.words}`}>
      {props.n > 99 ? "99+" : props.n}
      <span class="off-screen"> {props.words}</span>
    </span>
  );
}

const BADGES: Readonly<Record<string, readonly [keyof Badges, string]>> = { findings: ["findings", "new since the last visit"], alerts: ["alerts", "firing"] };

function Links(props: { entries: readonly Entry[]; view: string; badges: Badges }) {
  return (
    <>
      {props.entries.map((e) => (
        <ViewLink key={e.view} to={{ view: e.view === "overview" ? undefined : e.view }} current={entryOf(props.view) === e}>
          <Icon name={e.icon} size={18} />
          <span>{e.words}</span>
          {BADGES[e.view] && <Badge n={props.badges[BADGES[e.view]?.[0] ?? "alerts"]} words={BADGES[e.view]?.[1] ?? ""} />}
        </ViewLink>
      ))}
    </>
  );
}

/** All views, always labelled: a rail at the left, a bar of five at the bottom of a phone. */
export function Rail(props: { view: string }) {
  const [settings, setSettings] = useState(0);
  const badges = useBadges();
  const phone = [...ASK.slice(0, 3), ...TOLD.slice(0, 1)];
  return (
    <>
      <nav class="rail" aria-label="Views">
        <ViewLink to={{}} class="logo" label="Spanflame: all services">
          <Logo />
          <span>Spanflame</span>
        </ViewLink>
        <Links entries={ASK} view={props.view} badges={badges} />
        <hr />
        <Links entries={TOLD} view={props.view} badges={badges} />
        <div class="grow" />
        <Links entries={SYSTEM} view={props.view} badges={badges} />
        <button type="button" class="rail-button" onClick={() => setSettings(settings + 1)}>
          <Icon name="settings" size={18} />
          <span>Settings</span>
        </button>
      </nav>
      <nav class="tabbar" aria-label="Views of a small screen">
        <Links entries={phone} view={props.view} badges={badges} />
        <Popover
          label="More views"
          panel="More views"
          class="rail-button"
          button={
            <>
              <Icon name="more" size={18} />
              <span>More</span>
            </>
          }
        >
          {() => (
            <div class="menu-list">
              <Links entries={ENTRIES.filter((e) => !phone.includes(e))} view={props.view} badges={badges} />
              <button type="button" class="rail-button" onClick={() => setSettings(settings + 1)}>
                <Icon name="settings" size={18} />
                <span>Settings</span>
              </button>
            </div>
          )}
        </Popover>
      </nav>
      <SettingsDialog turn={settings} />
    </>
  );
}
