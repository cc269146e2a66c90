import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** A button that opens a small panel; a click elsewhere or Escape closes it, and the button has the focus again. */
export function Popover(props: { label: string; panel: string; button: ComponentChildren; class?: string; title?: string; children: (close: () => void) => ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  const close = () => {
    setOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  useEffect(() => {
    if (!open) return undefined;
    const away = (e: MouseEvent) => {
      if (e.target instanceof Node && !box.current?.contains(e.target)) setOpen(false);
    };
    addEventListener("mousedown", away);
    return () => removeEventListener("mousedown", away);
  }, [open]);
  return (
    <span
      class="pop-box"
      ref={box}
      onKeyDown={(e) => {
        if (e.key !== "Escape" || !open) return;
        e.stopPropagation();
        close();
      }}
    >
      <button type="button" class={props.class ?? "btn"} aria-expanded={open} aria-haspopup="dialog" aria-label={props.label} title={props.title} onClick={() => setOpen(!open)}>
        {props.button}
      </button>
      {open && (
        <div class="popover" role="dialog" aria-label={props.panel}>
          {props.children(close)}
        </div>
      )}
    </span>
  );
}
