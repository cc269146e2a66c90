// Findings that a person has put aside, in this browser.

import type { Told } from "../overview/use_findings";

const KEY = "spanflame.dismissed";
const MOST = 200;

function read(): string[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((k): k is string => typeof k === "string") : [];
  } catch {
    return [];
  }
}

const keyOf = (f: Told) => `${f.service}\n${f.kind}\n${f.subject}`;

export function isDismissed(f: Told): boolean {
  return read().includes(keyOf(f));
}

export function dismiss(f: Told, on: boolean): void {
  const rest = read().filter((k) => k !== keyOf(f));
  localStorage.setItem(KEY, JSON.stringify(on ? [...rest, keyOf(f)].slice(-MOST) : rest));
}
