// Dashboards against Grafana's own schema: the types of @grafana/schema, which its code is compiled with. Each board of the
// files named on the command line becomes a constant of the type Dashboard, each panel's options and each query one of its
// own type; the TypeScript compiler says what does not fit, unknown keys included. Prints a line for each fault.
const fs = require('fs');
const path = require('path');
const ts = require('typescript');

const FROM = '@grafana/schema/dist/esm/raw/';
const OPTIONS = { timeseries: 'TimeSeries', heatmap: 'Heatmap', table: 'Table', stat: 'Stat', nodeGraph: 'NodeGraph' };
const QUERIES = { tempo: 'TempoQuery', 'grafana-pyroscope-datasource': 'GrafanaPyroscopeDataQuery' };
// What is a constant of an enumeration in code is its word in JSON.
const head = `import type { Dashboard } from '${FROM}dashboard/x/Dashboard_types.gen';
import type { TempoQuery } from '${FROM}composable/tempo/dataquery/x/TempoDataQuery_types.gen';
import type { GrafanaPyroscopeDataQuery } from '${FROM}composable/grafanapyroscope/dataquery/x/GrafanaPyroscopeDataQuery_types.gen';
${Object.entries(OPTIONS).map(([kind, name]) => `import type { Options as ${name}Options } from '${FROM}composable/${kind.toLowerCase()}/panelcfg/x/${name}PanelCfg_types.gen';`).join('\n')}
type Loose<T> = T extends string ? \`\${T}\` : T extends (infer U)[] ? Loose<U>[] : T extends object ? { [K in keyof T]: Loose<T[K]> } : T;
type Part<T> = T extends (infer U)[] ? Part<U>[] : T extends object ? { [K in keyof T]?: Part<T[K]> } : T;
`;

const places = new Map();
const lines = [head];
const say = (place, type, value) => {
  places.set(`v${places.size}`, place);
  lines.push(`export const v${places.size - 1}: ${type} = ${JSON.stringify(value)};`);
};
let n = 0;
for (const file of process.argv.slice(2)) {
  const board = JSON.parse(fs.readFileSync(file, 'utf8'));
  const name = path.basename(file);
  say(name, 'Loose<Dashboard>', board);
  for (const panel of board.panels) {
    const where = `${name}: ${panel.title}`;
    n += 1;
    // What an option leaves out has a default.
    if (OPTIONS[panel.type] && panel.options) say(`${where}: options`, `Part<Loose<${OPTIONS[panel.type]}Options>>`, panel.options);
    for (const target of panel.targets || []) {
      const type = QUERIES[target.datasource.type];
      if (type) say(`${where}: query ${target.refId}`, `Part<Loose<${type}>>`, target);
    }
  }
}

const source = path.join(__dirname, 'boards.ts');
const options = { strict: true, noEmit: true, skipLibCheck: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler, types: [] };
const host = ts.createCompilerHost(options);
const { getSourceFile, fileExists, readFile } = host;
host.getSourceFile = (file, ...rest) => (file === source ? ts.createSourceFile(file, lines.join('\n'), ts.ScriptTarget.ES2022) : getSourceFile(file, ...rest));
host.fileExists = (file) => file === source || fileExists(file);
host.readFile = (file) => (file === source ? lines.join('\n') : readFile(file));
for (const fault of ts.getPreEmitDiagnostics(ts.createProgram([source], options, host))) {
  const text = fault.file && fault.file.text.slice(fault.file.text.lastIndexOf('\n', fault.start) + 1, fault.start + 60);
  const place = places.get((/^export const (v\d+)/.exec(text) || [])[1]);
  console.log(`${place || 'the check itself'}: ${ts.flattenDiagnosticMessageText(fault.messageText, ' ').slice(0, 400)} (at ${JSON.stringify((text || '').slice(-60))})`);
}
console.log(`${n} panels`);
