import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Frame } from "../api/types";
import { visible } from "../format/safe_text";
import { sourceAddress } from "../state/links";

export function FlameMenu(props: { x: number; y: number; frame: Frame | undefined; onDo: (what: string) => void; onClose: () => void }) {
  const box = useRef<HTMLDivElement>(null);
  // Once: the graph around it is drawn again while the menu is open, and the focus stays where the keys have moved it.
  // Before it is painted: a key that follows at once must not be overtaken.
  useLayoutEffect(() => box.current?.querySelector("button")?.focus(), []);
  useEffect(() => {
    const away = (e: MouseEvent) => {
      if (e.target instanceof Node && !box.current?.contains(e.target)) props.onClose();
    };
    addEventListener("mousedown", away);
    return () => removeEventListener("mousedown", away);
  }, [props.onClose]);
  const items: (readonly [string, string])[] = [
    ["zoom", "Zoom in"],
    ["focus", "Focus: only stacks through it"],
    ["sandwich", "Callers and callees"],
    ["spans", "Spans that ran this"],
    ["search", "Mark this function"],
    ["hide", "Hide: merge it into its callers"],
    ["lines", "Cost per line"],
    ["name", "Copy the name"],
    ["stack", "Copy the stack"],
  ];
  if (!props.frame) items.splice(1, 6);
  if (!props.frame?.file) items.splice(items.findIndex(([what]) => what === "lines"), items.some(([what]) => what === "lines") ? 1 : 0);
  if (sourceAddress(props.frame) !== "") items.push(["source", "Open the source"]);
  const move = (e: KeyboardEvent) => {
    const all = [...(box.current?.querySelectorAll("button") ?? [])];
    const at = all.findIndex((b) => b === document.activeElement);
    if (e.key === "Escape") props.onClose();
    else if (e.key === "ArrowDown") all[(at + 1) % all.length]?.focus();
    else if (e.key === "ArrowUp") all[(at - 1 + all.length) % all.length]?.focus();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <div
      class="menu"
      role="menu"
      aria-label={visible(props.frame?.function ?? "all")}
      ref={box}
      onKeyDown={move}
      style={{ left: `${String(Math.min(props.x, innerWidth - 230))}px`, top: `${String(Math.min(props.y, innerHeight - 290))}px` }}
    >
      <bdi class="menu-name">{visible(props.frame?.function ?? "all")}</bdi>
      {items.map(([what, words]) => (
        <button type="button" role="menuitem" key={what} onClick={() => props.onDo(what)}>
          {words}
        </button>
      ))}
    </div>
  );
}
