// What the view is called: in the tab, and in the top bar as the last part of the way there.

import { useEffect, useState } from "preact/hooks";

export interface Head {
  /** Of the tab, as text */
  readonly title: string;
  /** Behind the group's name; empty: the view is the group's own */
  readonly name: string;
  /** Whose colour stands before the name */
  readonly service: string;
}

const NOTHING: Head = { title: "", name: "", service: "" };
let now: Head = NOTHING;
const listeners = new Set<() => void>();

function set(head: Head): void {
  now = head;
  document.title = head.title === "" ? "Spanflame" : `${head.title} · Spanflame`;
  for (const f of listeners) f();
}

/** Called by a view; what it says holds until another one speaks. */
export function useHead(title: string, name = "", service = ""): void {
  useEffect(() => {
    set({ title, name, service });
  }, [title, name, service]);
}

export function useHeadNow(): Head {
  const [, turn] = useState(0);
  useEffect(() => {
    const f = () => turn((n) => n + 1);
    listeners.add(f);
    return () => void listeners.delete(f);
  }, []);
  return now;
}
