// Pyroscope's flame graph: rows of bars, each as gap before it, total, self and name.

import type { Profile } from "../api/types";

export interface Levels {
  names: string[];
  levels: { values: (string | number)[] }[];
  total: string | number;
}

interface Open {
  node: number;
  from: number;
  until: number;
}

export function profileOf(graph: Levels | undefined, type: string, service: string): Profile {
  const unit = type.split(":")[2] ?? "";
  const frames = (graph?.names ?? []).map((n) => ({ function: n }));
  const nodes: Profile["nodes"] = [[0, -1, 0]];
  let above: Open[] = [{ node: 0, from: 0, until: Number(graph?.total ?? 0) }];
  (graph?.levels ?? []).slice(1).forEach((level) => {
    const row: Open[] = [];
    let at = 0;
    let up = 0;
    for (let i = 0; i + 3 < level.values.length; i += 4) {
      at += Number(level.values[i]);
      const total = Number(level.values[i + 1]);
      while (up < above.length - 1 && at >= (above[up]?.until ?? 0)) up++;
      nodes.push([above[up]?.node ?? 0, Number(level.values[i + 3]), Number(level.values[i + 2])]);
      row.push({ node: nodes.length - 1, from: at, until: at + total });
      at += total;
    }
    above = row;
  });
  return { service, type, unit, labels: {}, timeUnixNano: "0", durationNs: 0, period: 0, total: Number(graph?.total ?? 0), samples: 0, isCut: frames.some((f) => f.function === "other"), frames, nodes };
}
