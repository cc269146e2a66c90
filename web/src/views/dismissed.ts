// Findings dismissed in this browser, with the reason.

import type { Told } from "../overview/use_findings";

const KEY = "spanflame.dismissed";
const MOST = 200;

/** Reasons to dismiss a finding. */
export const REASONS = ["Not worth it", "Known, being fixed", "Not true"] as const;

interface Kept {
  readonly key: string;
  readonly reason: string;
}

/** Early versions stored the keys without reasons. */
function keptOf(one: unknown): Kept[] {
  if (typeof one === "string") return [{ key: one, reason: "" }];
  if (typeof one !== "object" || one === null) return [];
  const { key, reason } = one as Record<string, unknown>;
  return typeof key === "string" && typeof reason === "string" ? [{ key, reason }] : [];
}

function read(): Kept[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.flatMap(keptOf) : [];
  } catch {
    return [];
  }
}

const keyOf = (f: Told) => `${f.service}\n${f.kind}\n${f.subject}`;

/** Undefined: the finding is not dismissed. */
export function reasonOf(f: Told): string | undefined {
  return read().find((k) => k.key === keyOf(f))?.reason;
}

/** `reason` undefined: the finding is no longer dismissed. */
export function dismiss(f: Told, reason: string | undefined): void {
  const rest = read().filter((k) => k.key !== keyOf(f));
  localStorage.setItem(KEY, JSON.stringify(reason === undefined ? rest : [...rest, { key: keyOf(f), reason }].slice(-MOST)));
}
