// Who takes samples, at which rate and cost, and the switches for it: on, off, capture.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, send } from "../api/client";
import { needCredentials } from "../api/token";
import { useAsk } from "../api/use_ask";
import { visible } from "../format/safe_text";
import { nanoToMs, percent } from "../format/units";
import { ViewLink } from "../parts/link";
import { Name } from "../parts/name";
import { SortTable, type Column } from "../parts/sort_table";
import { AskedFrame, Failure } from "../parts/states";
import { useHead } from "../state/head";
import { Scraped } from "./scraped";

interface Collector {
  readonly service: string;
  readonly instance: string;
  readonly host: string;
  readonly pid: number;
  readonly agent: string;
  readonly version: string;
  readonly rate: number;
  readonly paused: boolean;
  readonly ownCostPercent: number | null;
  readonly lastSeen: string;
  readonly secondsAgo: number;
  readonly waiting: boolean;
  readonly problem: string;
}

interface Capture {
  readonly id: string;
  readonly service: string;
  readonly instance: string;
  readonly state: string;
  readonly secondsLeft: number;
  readonly collectors: number;
  readonly collectorsDone: number;
  readonly fromNs?: string;
  readonly untilNs?: string;
}

/** Of a service, or of one of its instances; "*" is all of them. */
interface Target {
  readonly service: string;
  readonly instance: string;
}

const REFRESH_MS = 5000;
const CAPTURE = { seconds: "10", rate: "100" };

function query(t: Target): Record<string, string | undefined> {
  return { service: t.service, instance: t.instance === "*" ? undefined : t.instance };
}

function words(t: Target): string {
  return t.service === "*" ? "all collectors" : t.instance === "*" ? t.service : `${t.service}, ${t.instance}`;
}

/** Sends one change at a time and keeps what the server said of it. */
function useSwitch(onDone: () => void) {
  const [said, setSaid] = useState("");
  const [error, setError] = useState<ApiError>();
  const [isBusy, setBusy] = useState(false);
  const [capture, setCapture] = useState<Capture>();
  const stop = useRef(new AbortController());
  useEffect(() => () => stop.current.abort(), []);

  const run = useCallback(
    async (work: (signal: AbortSignal) => Promise<string>) => {
      setBusy(true);
      setError(undefined);
      setSaid("");
      try {
        setSaid(await work(stop.current.signal));
        onDone();
      } catch (e: unknown) {
        if (stop.current.signal.aborted) return;
        const told = e instanceof ApiError ? e : new ApiError(0, e instanceof Error ? e.message : String(e), 0);
        if (told.status === 401) needCredentials(told.message);
        setError(told);
      }
      setBusy(false);
    },
    [onDone],
  );
  const turn = useCallback(
    (t: Target, enabled: boolean) =>
      void run(async (signal) => {
        const now = await send<{ collectors: number }>("/api/v1/profiling", query(t), { enabled }, signal);
        const followers = now.collectors === 1 ? "1 known collector follows" : `${String(now.collectors)} known collectors follow`;
        return `Profiling is ${enabled ? "on" : "off"} for ${words(t)}: ${followers} within seconds.`;
      }),
    [run],
  );
  const begin = useCallback(
    (t: Target) =>
      void run(async (signal) => {
        const asked = { ...query(t), ...CAPTURE, type: "cpu", wait: "false" };
        setCapture(await send<Capture>("/api/v1/profiling/capture", asked, {}, signal));
        return "";
      }),
    [run],
  );

  const isRunning = capture?.state === "running";
  const id = capture?.id;
  useEffect(() => {
    if (!isRunning || id === undefined) return undefined;
    const timer = setInterval(() => {
      get<Capture>(`/api/v1/profiling/capture/${id}`, {}, stop.current.signal)
        .then((a) => setCapture(a.data))
        .catch((e: unknown) => {
          if (stop.current.signal.aborted) return;
          setError(e instanceof ApiError ? e : new ApiError(0, String(e), 0));
          setCapture(undefined);
        });
    }, 1000);
    return () => clearInterval(timer);
  }, [isRunning, id]);
  return { said, error, isBusy, capture, turn, begin };
}

function CaptureState(props: { capture: Capture }) {
  const { capture } = props;
  if (capture.state === "running")
    return (
      <p role="status">
        Capturing CPU samples of {visible(words(capture))}: {capture.secondsLeft > 0 ? `${String(capture.secondsLeft)} s left` : "waiting for the profile"}, {capture.collectorsDone} of {capture.collectors} collectors done.
      </p>
    );
  if (capture.fromNs === undefined || capture.untilNs === undefined)
    return <p role="status">No collector sent the capture of {visible(words(capture))} in time.</p>;
  const from = String(Math.floor(nanoToMs(capture.fromNs)));
  const until = String(Math.ceil(nanoToMs(capture.untilNs)));
  return (
    <p role="status">
      Captured {visible(words(capture))}: {capture.collectorsDone} of {capture.collectors} collectors.{" "}
      <ViewLink to={{ view: "profiles", service: capture.service, from, until }}>Show the profile</ViewLink>
    </p>
  );
}

function Buttons(props: { target: Target; doing: ReturnType<typeof useSwitch>; canCapture: boolean }) {
  const { target, doing } = props;
  const name = visible(words(target));
  return (
    <span class="switches">
      <button type="button" disabled={doing.isBusy} aria-label={`On: ${name}`} onClick={() => doing.turn(target, true)}>
        On
      </button>
      <button type="button" disabled={doing.isBusy} aria-label={`Off: ${name}`} onClick={() => doing.turn(target, false)}>
        Off
      </button>
      {props.canCapture && (
        <button
          type="button"
          disabled={doing.isBusy || doing.capture?.state === "running"}
          aria-label={`Capture: ${name}`}
          title={`CPU samples for ${CAPTURE.seconds} s at ${CAPTURE.rate} per second, even if profiling is off`}
          onClick={() => doing.begin(target)}
        >
          Capture
        </button>
      )}
    </span>
  );
}

function columns(doing: ReturnType<typeof useSwitch>): readonly Column<Collector>[] {
  return [
    { key: "instance", title: "Instance", isWide: true, by: (c) => c.instance, cell: (c) => <Name text={c.instance} /> },
    { key: "host", title: "Host, process", by: (c) => c.host, cell: (c) => `${visible(c.host)}${c.pid ? `, ${String(c.pid)}` : ""}` },
    { key: "agent", title: "Collector", by: (c) => c.agent, cell: (c) => <Name text={c.agent} /> },
    { key: "rate", title: "Rate", hint: "CPU samples per second in effect", isNumber: true, by: (c) => (c.paused ? -1 : c.rate), cell: (c) => (c.paused ? "paused" : c.rate === 0 ? "off" : `${String(c.rate)} Hz`) },
    { key: "cost", title: "Own cost", hint: "share of the process's CPU time in the last 10 s or longer at its last request; at the start of a process, since then", isNumber: true, by: (c) => c.ownCostPercent ?? -1, cell: (c) => (c.ownCostPercent === null ? "not reported" : percent(c.ownCostPercent / 100)) },
    { key: "seen", title: "Last seen", isNumber: true, by: (c) => c.secondsAgo, cell: (c) => <time dateTime={c.lastSeen} title={c.lastSeen}>{c.waiting ? "connected" : `${String(c.secondsAgo)} s ago`}</time> },
    { key: "version", title: "Version applied", hint: "of the document that it has applied", by: (c) => c.version, cell: (c) => <code>{c.version === "" ? "none" : visible(c.version)}</code> },
    { key: "problem", title: "Problem", by: (c) => c.problem, cell: (c) => (c.problem === "" ? "" : <span class="bad">{visible(c.problem)}</span>) },
    { key: "switch", title: "Profiling", cell: (c) => <Buttons target={c} doing={doing} canCapture /> },
  ];
}

export function CollectorsView() {
  const answer = useAsk<{ collectors: readonly Collector[] }>("collectors", (s) => get("/api/v1/collectors", {}, s));
  useHead("Collectors");
  const { again } = answer;
  useEffect(() => {
    const timer = setInterval(again, REFRESH_MS);
    return () => clearInterval(timer);
  }, [again]);
  const doing = useSwitch(again);
  return (
    <section aria-labelledby="page-title">
      <div class="row">
        <span class="f2">Programs that take samples. Profiling everywhere:</span>
        <Buttons target={{ service: "*", instance: "*" }} doing={doing} canCapture={false} />
      </div>
      {doing.error && <Failure sentence={doing.error.message} status={doing.error.status} retryAfterS={doing.error.retryAfterS} />}
      {doing.said !== "" && <p role="status">{visible(doing.said)}</p>}
      {doing.capture && <CaptureState capture={doing.capture} />}
      <AskedFrame
        asked={answer}
        empty={(d) => (d.collectors.length === 0 ? <p>No collector has polled this server since it was started. Programs that use libspanflame or run under spanflame record --server do so automatically.</p> : undefined)}
      >
        {(d) =>
          [...new Set(d.collectors.map((c) => c.service))].sort().map((service) => (
            <article key={service} class="card">
              <h2 class="row pad">
                <Name text={service} />
                <Buttons target={{ service, instance: "*" }} doing={doing} canCapture />
              </h2>
              <div class="table-scroll">
              <SortTable label={`Collectors of ${visible(service)}`} columns={columns(doing)} rows={d.collectors.filter((c) => c.service === service)} rowKey={(c) => c.instance} first="seen" />
              </div>
            </article>
          ))
        }
      </AskedFrame>
      <Scraped />
    </section>
  );
}
