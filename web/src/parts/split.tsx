import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";

const KEY = "spanflame.split";
const LEAST = 30;
const MOST = 70;
const USUAL = 47;

function kept(): number {
  const n = Number(localStorage.getItem(KEY) ?? "");
  return n >= LEAST && n <= MOST ? n : USUAL;
}

/** Two panes with a gutter: drag it, or arrows by 2 %; a double click puts it back. */
export function Split(props: { left: ComponentChildren; right: ComponentChildren | undefined }) {
  const [share, setShare] = useState(kept());
  const box = useRef<HTMLDivElement>(null);
  const put = (n: number) => {
    const to = Math.round(Math.max(LEAST, Math.min(MOST, n)) * 10) / 10;
    setShare(to);
    localStorage.setItem(KEY, String(to));
  };
  const drag = (e: MouseEvent) => {
    e.preventDefault();
    const r = box.current?.getBoundingClientRect();
    if (!r) return;
    const move = (m: MouseEvent) => put(((m.clientX - r.left) / (r.width || 1)) * 100);
    addEventListener("mousemove", move);
    addEventListener("mouseup", () => removeEventListener("mousemove", move), { once: true });
  };
  const hasRight = props.right !== undefined && props.right !== null && props.right !== false;
  return (
    <div class={hasRight ? "split two" : "split"} ref={box} style={hasRight ? { gridTemplateColumns: `minmax(0, ${String(share)}fr) 9px minmax(0, ${String(100 - share)}fr)` } : {}}>
      {props.left}
      {hasRight && (
        <div
          class="grip"
          role="separator"
          aria-orientation="vertical"
          aria-label="Width of the panes"
          aria-valuenow={share}
          aria-valuemin={LEAST}
          aria-valuemax={MOST}
          tabIndex={0}
          onMouseDown={drag}
          onDblClick={() => put(USUAL)}
          onKeyDown={(e) => {
            if (e.key === "ArrowLeft") put(share - 2);
            else if (e.key === "ArrowRight") put(share + 2);
            else return;
            e.preventDefault();
          }}
        />
      )}
      {props.right}
    </div>
  );
}
