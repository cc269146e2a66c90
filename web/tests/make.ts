import type { Profile, Span } from "../src/api/types";

/** {"main;a;b": 3} as a profile. */
export function profile(stacks: Readonly<Record<string, number>>, unit = "nanoseconds"): Profile {
  const frames: { function: string }[] = [];
  const nodes: Profile["nodes"] = [[0, -1, 0]];
  const at = new Map<string, number>([["", 0]]);
  for (const [stack, v] of Object.entries(stacks)) {
    let path = "";
    let node = 0;
    for (const name of stack.split(";")) {
      path += `;${name}`;
      let child = at.get(path);
      if (child === undefined) {
        let f = frames.findIndex((x) => x.function === name);
        if (f < 0) f = frames.push({ function: name }) - 1;
        child = nodes.push([node, f, 0]) - 1;
        at.set(path, child);
      }
      node = child;
    }
    const own = nodes[node];
    if (own) own[2] += v;
  }
  return { service: "s", type: "process_cpu:cpu:nanoseconds:cpu:nanoseconds", unit, labels: {}, timeUnixNano: "0", durationNs: 0, period: 0, total: Object.values(stacks).reduce((a, b) => a + b, 0), samples: 1, isCut: false, frames, nodes };
}

export function span(spanId: string, depth: number, more: Partial<Span> = {}): Span {
  return {
    spanId, parentSpanId: "", depth, service: "s", name: spanId, kind: "SPAN_KIND_SERVER", status: "STATUS_CODE_UNSET", statusMessage: "",
    startTimeUnixNano: "0", endTimeUnixNano: "0", startOffsetNs: 0, durationNs: 1, isCritical: false, criticalNs: 0, critical: [], resource: 0, scope: 0,
    attributes: [], events: [], links: [], ...more,
  };
}
