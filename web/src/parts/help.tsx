import type { ComponentChildren } from "preact";
import { Popover } from "./popover";

/** What a word of the page means, where it stands: by mouse, keys and touch. */
export function Help(props: { of: string; children: ComponentChildren }) {
  return (
    <Popover label={`What is ${props.of}?`} panel={props.of} class="help" title={`What is ${props.of}?`} button="?">
      {() => (
        <div class="help-text">
          <b>{props.of.replace(/^./, (c) => c.toUpperCase())}</b>
          {props.children}
        </div>
      )}
    </Popover>
  );
}

export function BreakdownHelp() {
  return (
    <Help of="the time breakdown">
      <p>Where all of the duration went: running, waiting for a CPU, a lock, a disk, the network or a timer, in child spans, and what is not known. The parts add up to the duration.</p>
      <p>Solid colours are running time, hatched ones waiting time. “Exact” was measured; two numbers are a 95 % interval computed from samples; ~ marks an estimate from samples that may belong to other spans.</p>
      <p>A row shows only its part in the graph below.</p>
    </Help>
  );
}

export function CoverageHelp() {
  return (
    <Help of="coverage">
      <p>What data of each service arrives, and whether its profiles are joined to its spans: a sample is a span&apos;s when it names the span, or when it was taken on the span&apos;s thread while the span ran.</p>
      <p>Match quality is the share of samples known to belong to their span; the others are estimates, marked ~ everywhere.</p>
      <p>“Missing” names what to add; How shows the lines.</p>
    </Help>
  );
}
