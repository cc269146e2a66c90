import { useMemo } from "preact/hooks";
import { visible } from "../format/safe_text";
import { amount, share, signed } from "../format/units";
import { Name } from "../parts/name";
import { SortTable, type Column } from "../parts/sort_table";
import { patternOf } from "./search";
import { placeText } from "./tooltip";
import { topRows, type TopRow } from "./transform";
import type { Tree } from "./tree";

/** Functions by what they cost; a click marks one in the graph, and the graph's mark is marked here. */
export function TopTable(props: { tree: Tree; whole: number; search: string; selected: string; onPick: (name: string) => void }) {
  const { tree } = props;
  const rows = useMemo(() => {
    const all = topRows(tree);
    if (props.search === "") return all;
    const pattern = patternOf(props.search);
    return all.filter((r) => pattern.test(r.name));
  }, [tree, props.search]);
  const columns = useMemo((): Column<TopRow>[] => {
    const { whole } = props;
    const part = (n: number) => <span class="faint share">{share(n / (whole || 1), tree.measure)}</span>;
    const name: Column<TopRow> = {
      key: "name",
      title: "Function",
      by: (r) => r.name,
      cell: (r) => (
        <button type="button" class="plain function" title={visible(placeText(r.frame))} onClick={() => props.onPick(r.name)}>
          <Name text={r.name} />
        </button>
      ),
    };
    if (tree.otherTotal)
      return [
        name,
        { key: "left", title: "Baseline self", isNumber: true, by: (r) => r.self, cell: (r) => amount(r.self, tree.measure) },
        { key: "right", title: "Comparison self", isNumber: true, by: (r) => r.otherSelf, cell: (r) => amount(r.otherSelf, tree.measure) },
        {
          key: "delta",
          title: "Difference",
          isNumber: true,
          by: (r) => Math.abs(r.otherSelf - r.self),
          cell: (r) => signed(amount(r.otherSelf - r.self, tree.measure), r.otherSelf - r.self),
        },
      ];
    return [
      name,
      { key: "self", title: "Self", isNumber: true, by: (r) => r.self, cell: (r) => <>{amount(r.self, tree.measure)} {part(r.self)}</> },
      { key: "total", title: "Total", isNumber: true, by: (r) => r.total, cell: (r) => <>{amount(r.total, tree.measure)} {part(r.total)}</> },
    ];
  }, [tree, props.whole, props.onPick]);
  return (
    <div class="flame-table" tabIndex={0} role="region" aria-label="Functions">
      <SortTable
        label="Functions"
        columns={columns}
        rows={rows}
        rowKey={(r) => r.name}
        first={tree.otherTotal ? "delta" : "self"}
        onRow={(r) => props.onPick(r.name)}
        isCurrent={(r) => r.name === props.selected}
        stateKey="ft"
      />
    </div>
  );
}
