// The bar of a running demo: a switch for each planted problem, the bad commit and the way back, and what was noticed.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, sendTimed } from "../api/client";
import { onCredentials } from "../api/token";
import { useChange } from "../api/use_change";
import { visible } from "../format/safe_text";
import { ViewLink } from "../parts/link";
import { change as changeUrl, params, parse } from "../state/url";
import { BAD_COMMIT, demoOf, GOOD_COMMIT, noticeOf, runRange, shortened, toggled, WISH, wishOf, type Demo, type FiredAlert, type Notice, type PastAlert, type Setting, type Wish } from "./demo_state";

const SERVICE = "/settings.v1.SettingsService/";
const ASK_MS = 1500;

interface Known {
  readonly demo: Demo;
  readonly notice: Notice;
}

async function ask(signal: AbortSignal): Promise<Known | undefined> {
  const { data, nowMs } = await sendTimed<{ settings?: readonly Setting[] }>(`${SERVICE}Get`, {}, signal);
  const demo = demoOf(data.settings, nowMs);
  if (!demo) return undefined;
  const run = runRange(demo, params(), nowMs);
  if (run) changeUrl(run, true);
  const alerts = (await get<{ data: { alerts: readonly FiredAlert[] } }>("/api/v1/alerts", {}, signal)).data.data.alerts;
  const past = demo.worse ? [] : (await get<{ events: readonly PastAlert[] }>("/api/v1/alerts/history", {}, signal)).data.events;
  return { demo, notice: noticeOf(demo, alerts, past) };
}

/** Asked once of a server without a demo, every second or two of one that has it. */
function useDemo(): [Known | undefined, () => void] {
  const [known, set] = useState<Known>();
  const [turn, setTurn] = useState(0);
  const again = useCallback(() => setTurn((n) => n + 1), []);
  useEffect(() => onCredentials(again), [again]);
  useEffect(() => {
    const stop = new AbortController();
    let timer = 0;
    let had = false;
    const look = () => {
      ask(stop.signal)
        .then((k) => {
          had = k !== undefined;
          set(k);
        })
        // A view says what is wrong with the server; a bar that was there waits for it.
        .catch(() => undefined)
        .finally(() => {
          if (had && !stop.signal.aborted) timer = window.setTimeout(document.hidden ? wait : look, ASK_MS);
        });
    };
    const wait = () => {
      timer = window.setTimeout(document.hidden ? wait : look, ASK_MS);
    };
    look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [turn]);
  return [known, again];
}

function switchWords(demo: Demo): string {
  if (demo.switched === BAD_COMMIT) return `${BAD_COMMIT} was deployed`;
  if (demo.switched === GOOD_COMMIT) return `${GOOD_COMMIT} is back`;
  return `${visible(demo.switched)} was switched ${demo.worse ? "on" : "off"}`;
}

function NoticeLine(props: { demo: Demo; notice: Notice }) {
  const { demo, notice } = props;
  const said = switchWords(demo);
  const took = notice.seconds < 1 ? "at once" : `after ${notice.seconds.toFixed(0)} s`;
  const sentence = <span title={visible(notice.sentence)}>{visible(shortened(notice.sentence))}</span>;
  const words = () => {
    if (demo.refused !== "") return <span class="bad">{visible(demo.refused)}</span>;
    switch (notice.kind) {
      case "nothing":
        return <>Switch a problem, or deploy the bad commit: an alert names it within half a minute.</>;
      case "waiting":
        return <>{said}. Nothing noticed yet; rules are evaluated every 3 s.</>;
      case "noticed":
        return (
          <>
            <b>{said}, noticed {took}:</b> {sentence}
          </>
        );
      case "already":
        return (
          <>
            {said}; its alert has fired since before: {sentence}
          </>
        );
      case "still":
        return <>{said}. Its alert still fires: it is about the last 15 to 45 s.</>;
      case "over":
        return notice.seconds >= 0 ? (
          <>
            <b>{said}, its alert was over {took}:</b> {sentence}
          </>
        ) : (
          <>{said}. No alert about it fires.</>
        );
    }
  };
  return (
    <p class="demo-said">
      <span role="status">{words()}</span> {notice.page !== "" && (notice.kind === "noticed" || notice.kind === "already") && <ViewLink to={parse(notice.page)}>Evidence</ViewLink>}
    </p>
  );
}

export function DemoBar() {
  const [known, again] = useDemo();
  const [open, setOpen] = useState(false);
  // What was requested and is not yet true; gone when the demo has examined it.
  const wish = useRef<{ at: number; of: Wish }>();
  const change = useChange(again);
  if (!known) return null;
  const { demo } = known;
  if (wish.current && wish.current.at > 0 && demo.wishAt >= wish.current.at) wish.current = undefined;
  const now = wish.current?.of ?? wishOf(demo);
  const isBad = now.commit === BAD_COMMIT;
  const want = (next: Wish) => {
    wish.current = { at: 0, of: next };
    change.run(async (signal) => {
      const { data } = await sendTimed<{ setting?: Setting }>(`${SERVICE}Set`, { setting: { name: WISH, value: JSON.stringify(next) } }, signal);
      if (wish.current?.of === next) wish.current = { at: Number(data.setting?.modifiedAt ?? "0"), of: next };
    });
  };
  // The commit has buttons of its own.
  const shown = demo.problems.filter((p) => p.name !== "regression");
  const isOn = (name: string) => !now.off.includes(name);
  return (
    <aside class={`demo-bar card ${open ? "open" : ""}`} aria-label="Demo">
      <div class="demo-row">
        <b class="demo-title">Demo</b>
        <button type="button" class="btn demo-fold" aria-expanded={open} onClick={() => setOpen(!open)}>
          Problems: {shown.filter((p) => isOn(p.name)).length} of {shown.length} on
        </button>
        <div class="demo-switches">
          {shown.map((p) => (
            <button key={p.name} type="button" role="switch" class="demo-switch" aria-checked={isOn(p.name)} title={visible(`${p.what}, in ${p.service}`)} onClick={() => want(toggled(now, p.name))}>
              <i aria-hidden="true" />
              <span>
                <b>{visible(p.name)}</b> <small>{visible(p.cost)}</small>
              </span>
            </button>
          ))}
        </div>
        <button type="button" class={isBad ? "btn" : "btn main"} title={isBad ? "evaluateRules costs 3 ms again" : "evaluateRules costs 9 ms instead of 3"} onClick={() => want({ ...now, commit: isBad ? GOOD_COMMIT : BAD_COMMIT })}>
          {isBad ? "Roll back" : "Deploy the bad commit"}
        </button>
      </div>
      {change.error && <p class="note bad">{visible(change.error.message)}</p>}
      {demo.doing !== "" && <p class="demo-said f3">The demo is {visible(demo.doing)}.</p>}
      <NoticeLine demo={demo} notice={known.notice} />
    </aside>
  );
}
