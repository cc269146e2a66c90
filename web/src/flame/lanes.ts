// Samples in order of time, a lane per thread: boxes of equal frames that follow one another.

import type { Frame, Profile } from "../api/types";
import { named, type Moment } from "./tree";

export interface LaneBox {
  readonly from: number;
  until: number;
  /** Of the lane's frames */
  readonly frame: number;
  samples: number;
}

/** What a thread did, innermost function by innermost function: the picture in words. */
export interface Turn extends LaneBox {
  readonly thread: number;
}

export interface Lane {
  readonly thread: number;
  /** Rows, the outermost call first; in each by time */
  readonly rows: readonly LaneBox[][];
  readonly turns: readonly Turn[];
  readonly samples: number;
  /** Nanoseconds that its boxes cover */
  readonly covered: number;
}

export interface Lanes {
  readonly lanes: readonly Lane[];
  readonly frames: readonly Frame[];
  /** Threads with fewer samples that have no lane */
  readonly left: number;
  /** Calls that are deeper than what is drawn */
  readonly isCut: boolean;
}

export const MOST_LANES = 24;
export const MOST_ROWS = 64;
const MOST_BOXES = 200_000;

/** How long a sample without a length stands: what it is worth in time, else the usual distance of two. */
function usual(moments: readonly Moment[], isTime: boolean): number {
  const of = isTime ? moments.map((m) => m[2]) : moments.slice(1).map((m, i) => m[0] - (moments[i]?.[0] ?? 0));
  const all = of.filter((n) => n > 0).sort((a, b) => a - b);
  return all[all.length >> 1] ?? 0;
}

function laneOf(p: Profile, moments: readonly Moment[], thread: number, room: number): { lane: Lane; isCut: boolean; boxes: number } {
  const step = usual(moments, p.unit === "nanoseconds");
  const rows: LaneBox[][] = [];
  const turns: Turn[] = [];
  let [boxes, covered, isCut, last] = [0, 0, false, -Infinity];
  let open: LaneBox[] = [];
  moments.forEach(([from, length, , leaf], i) => {
    if (leaf <= 0 || leaf >= p.nodes.length) return;
    const next = moments[i + 1]?.[0] ?? Infinity;
    const until = length > 0 ? from + length : Math.min(from + step, Math.max(next, from));
    const path: number[] = [];
    for (let at = leaf; at > 0 && path.length <= p.nodes.length; at = p.nodes[at]?.[0] ?? 0) path.push(p.nodes[at]?.[1] ?? 0);
    path.reverse();
    if (path.length > MOST_ROWS) isCut = true;
    // What a thread did before a pause ended there, though it does the same again.
    const isLater = from - last > step * 0.5 + 1;
    if (isLater) open = [];
    const inner = path[path.length - 1] ?? 0;
    const turn = turns[turns.length - 1];
    if (turn && !isLater && turn.frame === inner) {
      turn.until = Math.max(turn.until, until);
      turn.samples++;
    } else turns.push({ thread, from, until, frame: inner, samples: 1 });
    const now: LaneBox[] = [];
    let isSame = true;
    for (const [depth, frame] of path.slice(0, MOST_ROWS).entries()) {
      const before = open[depth];
      isSame &&= before?.frame === frame;
      if (isSame && before) {
        before.until = Math.max(before.until, until);
        before.samples++;
        now.push(before);
        continue;
      }
      if (boxes >= room) {
        isCut = true;
        break;
      }
      const row = (rows[depth] ??= []);
      const box: LaneBox = { from, until, frame, samples: 1 };
      row.push(box);
      now.push(box);
      boxes++;
    }
    covered += Math.max(0, until - Math.max(from, last));
    last = Math.max(last, until);
    open = now;
  });
  return { lane: { thread, rows, turns, samples: moments.length, covered }, isCut, boxes };
}

/** The threads with most samples, in their order. */
export function lanesOf(p: Profile, moments: readonly Moment[]): Lanes {
  const of = new Map<number, Moment[]>();
  for (const m of moments) {
    const list = of.get(m[4]);
    if (list) list.push(m);
    else of.set(m[4], [m]);
  }
  const most = [...of].sort((a, b) => b[1].length - a[1].length || a[0] - b[0]).slice(0, MOST_LANES).sort((a, b) => a[0] - b[0]);
  let [room, isCut] = [MOST_BOXES, false];
  const lanes = most.map(([thread, list]) => {
    list.sort((a, b) => a[0] - b[0]);
    const made = laneOf(p, list, thread, room);
    room -= made.boxes;
    isCut ||= made.isCut;
    return made.lane;
  });
  return { lanes, frames: p.frames.map(named), left: of.size - lanes.length, isCut };
}

/** The box of a row at a time; -1: none. */
export function boxAt(row: readonly LaneBox[] | undefined, at: number): number {
  let [low, high] = [0, (row?.length ?? 0) - 1];
  while (low <= high) {
    const mid = (low + high) >> 1;
    const b = row?.[mid];
    if (!b) return -1;
    if (at < b.from) high = mid - 1;
    else if (at >= b.until) low = mid + 1;
    else return mid;
  }
  return -1;
}

/** The longest of a time, in its order. */
export function turnsOf(l: Lanes, from: number, until: number, most: number): { shown: Turn[]; left: number } {
  const all = l.lanes.flatMap((lane) => lane.turns.filter((t) => t.until > from && t.from < until));
  const shown = [...all].sort((a, b) => b.until - b.from - (a.until - a.from)).slice(0, most);
  return { shown: shown.sort((a, b) => a.thread - b.thread || a.from - b.from), left: all.length - shown.length };
}
