// Reads flame graphs as Grafana's own flame graph panel does: each line of standard input is a graph in Pyroscope's
// levels, {"names", "levels": [[...]], "isDiff"}; it becomes the table that Grafana's back end makes of it (a row for each
// bar, depth first), goes into the panel's container, and comes out as lines of JSON: bars with their paths and values,
// and the callers and callees of the function in "sandwich".
// The package looks for a browser's window when it is loaded, and does without what is in it.
global.window = { addEventListener() {}, location: { href: '', search: '' }, localStorage: { getItem() { return null; }, setItem() {} } };
global.navigator = global.navigator || { languages: ['en'], language: 'en' };
const fs = require('fs');
const path = require('path');
const { createDataFrame, FieldType } = require('@grafana/data');
const inside = path.join(path.dirname(require.resolve('@grafana/flamegraph/package.json')), 'dist', 'cjs', 'FlameGraph');
const { FlameGraphDataContainer, checkFields } = require(path.join(inside, 'dataTransform.cjs'));

function bars({ names, levels, isDiff }) {
  const size = isDiff ? 7 : 4;
  const rows = levels.map((values, level) => {
    let left = 0, right = 0;
    const found = [];
    for (let i = 0; i < values.length; i += size) {
      const v = values.slice(i, i + size).map(Number);
      left += v[0];
      if (isDiff) right += v[3];
      found.push({ level, at: left + right, width: v[1] + (isDiff ? v[4] : 0), value: v[1], self: v[2],
        valueRight: isDiff ? v[4] : 0, selfRight: isDiff ? v[5] : 0, label: names[v[size - 1]], children: [] });
      left += v[1];
      if (isDiff) right += v[4];
    }
    return found;
  });
  for (let level = 1; level < rows.length; level++) {
    for (const bar of rows[level]) {
      const parent = rows[level - 1].find((p) => bar.at >= p.at && bar.at + bar.width <= p.at + p.width &&
        (bar.width > 0 || bar.at < p.at + p.width || p.width === 0));
      if (!parent) throw new Error(`a bar of level ${level} has no parent: ${bar.label}`);
      parent.children.push(bar);
    }
  }
  const out = [];
  const walk = (bar) => { out.push(bar); bar.children.forEach(walk); };
  rows[0].forEach(walk);
  return out;
}

for (const line of fs.readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const graph = JSON.parse(line);
  const rows = bars(graph);
  const field = (name, type) => ({ name, type, config: type === FieldType.number ? { unit: 'ns' } : {}, values: rows.map((r) => r[name]) });
  const fields = [field('label', FieldType.string), ...['level', 'value', 'self'].map((n) => field(n, FieldType.number))];
  if (graph.isDiff) fields.push(field('valueRight', FieldType.number), field('selfRight', FieldType.number));
  const frame = createDataFrame({ fields });
  if (checkFields(frame)) throw new Error(JSON.stringify(checkFields(frame)));
  const container = new FlameGraphDataContainer(frame, { collapsing: true });
  const label = (item) => container.getLabel(item.itemIndexes[0]);
  const pathOf = (item) => [...(item.parents ? pathOf(item.parents[0]) : []), label(item)];
  const shown = container.getLevels().flat().map((item) => [pathOf(item).join(';'), container.getValue(item.itemIndexes[0]),
    container.getSelf(item.itemIndexes[0]), container.getValueRight(item.itemIndexes[0]), item.start]);
  const sandwich = graph.sandwich ? container.getSandwichLevels(graph.sandwich).map((levels) => levels.flat().map((item) => [label(item), item.value])) : [];
  console.log(JSON.stringify({ shown, isDiff: container.isDiffFlamegraph(), unit: container.getUnitTitle(), sandwich }));
}
