// Names of services that some view has seen: the search field offers them without a query of its own.

import { useEffect, useState } from "preact/hooks";

let known: readonly string[] = [];
const listeners = new Set<() => void>();

export function tellServices(names: readonly string[]): void {
  if (names.length === 0 || (names.length === known.length && names.every((n, i) => n === known[i]))) return;
  known = [...names];
  for (const f of listeners) f();
}

export function useKnownServices(): readonly string[] {
  const [, turn] = useState(0);
  useEffect(() => {
    const f = () => turn((n) => n + 1);
    listeners.add(f);
    return () => void listeners.delete(f);
  }, []);
  return known;
}
