import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { change } from "../state/url";
import { useUrl } from "../state/use_url";

export interface Column<T> {
  readonly key: string;
  readonly title: string;
  readonly hint?: string;
  readonly cell: (row: T) => ComponentChildren;
  /** What it is sorted by; none: it is not. A row without a value is below all others in both directions. */
  readonly by?: (row: T) => number | string | undefined;
  readonly isNumber?: boolean;
  /** Takes what the others leave */
  readonly isWide?: boolean;
}

/** The order of two values; `sign` is -1 for the largest first. */
export function inOrder(x: number | string | undefined, y: number | string | undefined, sign: number): number {
  if (x === undefined || y === undefined) return (x === undefined ? 1 : 0) - (y === undefined ? 1 : 0);
  return x < y ? -sign : x > y ? sign : 0;
}

/** A table whose columns sort. Numbers begin with the largest. */
export function SortTable<T>(props: {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T, at: number) => string;
  first?: string;
  onRow?: (row: T) => void;
  isCurrent?: (row: T) => boolean;
  max?: number;
  /** Its key in the address; none: the order is forgotten with the view */
  stateKey?: string;
}) {
  const url = useUrl();
  const [own, setOwn] = useState("");
  const order = (props.stateKey === undefined ? own : url[props.stateKey]) || `${props.first ?? ""}-down`;
  const sort = useMemo(() => ({ key: order.replace(/-(up|down)$/, ""), down: !order.endsWith("-up") }), [order]);
  const setSort = (s: { key: string; down: boolean }) => {
    const text = `${s.key}-${s.down ? "down" : "up"}`;
    if (props.stateKey === undefined) setOwn(text);
    else change({ [props.stateKey]: text });
  };
  const sorted = useMemo(() => {
    const by = props.columns.find((c) => c.key === sort.key)?.by;
    if (!by) return props.rows;
    const sign = sort.down ? -1 : 1;
    return [...props.rows].sort((a, b) => inOrder(by(a), by(b), sign));
  }, [props.rows, props.columns, sort]);
  const [isWhole, setWhole] = useState(false);
  const max = isWhole ? sorted.length : (props.max ?? 500);
  return (
    <>
      <table aria-label={props.label}>
        <thead>
          <tr>
            {props.columns.map((c) => (
              <th key={c.key} class={c.isNumber ? "number" : undefined} title={c.hint} aria-sort={sort.key === c.key ? (sort.down ? "descending" : "ascending") : undefined}>
                {c.by ? (
                  <button
                    type="button"
                    class="plain"
                    onClick={() => setSort({ key: c.key, down: sort.key === c.key ? !sort.down : c.isNumber === true })}
                  >
                    {c.title}
                    <span aria-hidden="true">{sort.key === c.key ? (sort.down ? " ↓" : " ↑") : ""}</span>
                  </button>
                ) : (
                  c.title
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, max).map((row, at) => (
            <tr
              key={props.rowKey(row, at)}
              class={props.onRow ? "clickable" : undefined}
              aria-current={props.isCurrent?.(row) ? "true" : undefined}
              onClick={props.onRow && ((e) => !(e.target instanceof Element && e.target.closest("a,button,input")) && props.onRow?.(row))}
            >
              {props.columns.map((c) => (
                <td key={c.key} class={c.isNumber ? "number" : c.isWide ? "wide" : undefined} data-title={c.title}>
                  {c.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {sorted.length > max && (
        <p class="note">
          The first {max} of {sorted.length} rows.{" "}
          <button type="button" class="plain" onClick={() => setWhole(true)}>
            Show all
          </button>
        </p>
      )}
    </>
  );
}
