// Profiles Drilldown's own clients, for a test to use: each asks the server and reads the answer as the app does. One step in
// each line of standard input, one line of JSON for each; the first argument is the server's address.
//
//     {"do": "series", "from": ms, "to": ms}    and so on, below
import readline from "node:readline";

const SERVER = process.argv[2];
const UID = "spanflame";
globalThis.packages = {
  "@grafana/runtime": { config: { appSubUrl: SERVER, datasources: { p: { type: "grafana-pyroscope-datasource", uid: UID, jsonData: {}, isDefault: true } }, bootData: { user: { orgId: 1 } } } },
  "protobufjs/light": { Field: { d: () => () => {} }, Message: class {} },
};
globalThis.window = { location: { href: SERVER + "/a/profiles" }, localStorage: { getItem: () => null, setItem: () => {} } };
globalThis.localStorage = window.localStorage;
globalThis.FileReader = class extends EventTarget {
  async readAsDataURL(file) {
    this.result = "data:application/octet-stream;base64," + Buffer.from(await file.arrayBuffer()).toString("base64");
    this.dispatchEvent(new Event("load"));
  }
};
const ask = globalThis.fetch; // what Grafana's proxy of data sources does with an address
globalThis.fetch = (url, options) => ask(String(url).replace(`/api/datasources/proxy/uid/${UID}`, ""), options);

const time = (ms) => ({ valueOf: () => ms, unix: () => Math.floor(ms / 1000) });
const range = (step) => ({ from: time(step.from), to: time(step.to) });
const plain = (value) => value instanceof Map ? Object.fromEntries([...value].map(([k, v]) => [k, plain(v)]))
  : value instanceof Set ? [...value].sort() : value;

async function run() {
  const { SeriesApiClient } = await import("drilldown/pages/ProfilesExplorerView/infrastructure/series/http/SeriesApiClient");
  const { LabelsApiClient } = await import("drilldown/pages/ProfilesExplorerView/infrastructure/labels/http/LabelsApiClient");
  const { ProfileApiClient } = await import("drilldown/pages/ProfilesExplorerView/infrastructure/profiles/ProfileApiClient");
  const { PprofApiClient } = await import("drilldown/pages/ProfilesExplorerView/components/SceneExploreServiceFlameGraph/infrastructure/PprofApiClient");
  const { DiffProfileApiClient } = await import("drilldown/pages/ProfilesExplorerView/components/SceneExploreDiffFlameGraph/components/SceneDiffFlameGraph/infrastructure/DiffProfileApiClient");
  const { convertPprofToFunctionDetails } = await import("drilldown/pages/ProfilesExplorerView/components/SceneExploreServiceFlameGraph/components/SceneFunctionDetailsPanel/domain/convertPprofToFunctionDetails");
  const { adHocProfileClient } = await import("drilldown/pages/AdHocView/infrastructure/adHocProfileClient");
  const { recordingRulesApiClient } = await import("drilldown/shared/infrastructure/recording-rules/recordingRulesApiClient");
  const { useSettingsApiClient } = await import("drilldown/shared/infrastructure/settings/settingsApiClient");
  const { statsApiClient } = await import("drilldown/app/components/Onboarding/infrastructure/statsApiClient");
  const { queryAnalysisApiClient } = await import("drilldown/shared/components/QueryAnalysisTooltip/infrastructure/queryAnalysisApiClient");
  const client = (Client) => new Client({ dataSourceUid: UID });
  const details = async (step) => convertPprofToFunctionDetails(step.function, await client(PprofApiClient).selectMergeProfileJson({
    profileMetricId: step.type, labelsSelector: step.selector, start: Math.floor(step.from / 1000), end: Math.ceil(step.to / 1000), stackTrace: step.stack, maxNodes: 500 }));
  const steps = {
    series: (step) => client(SeriesApiClient).list(step),
    labels: (step) => client(LabelsApiClient).fetchLabels(step.query, step.from, step.to),
    values: (step) => client(LabelsApiClient).fetchLabelValues(step.label, step.query, step.from, step.to),
    render: (step) => client(ProfileApiClient).get({ query: step.query, timeRange: range(step), format: step.format, maxNodes: step.maxNodes }),
    diff: (step) => client(DiffProfileApiClient).get({ leftQuery: step.query, leftTimeRange: range(step), rightQuery: step.query, rightTimeRange: range(step), maxNodes: 100 }),
    details: async (step) => (await details(step)).map((d) => ({ ...d, callSites: [...d.callSites.values()] })),
    upload: async (step) => adHocProfileClient.uploadSingle(new File([Buffer.from(step.bytes, "base64")], step.name)),
    get: (step) => adHocProfileClient.get(step.id, step.type),
    rules: () => recordingRulesApiClient.get(),
    rule: (step) => recordingRulesApiClient.create(step.rule),
    forget: (step) => recordingRulesApiClient.remove(step.rule),
    settings: () => useSettingsApiClient().get(),
    set: (step) => useSettingsApiClient().set(step.settings),
    stats: () => statsApiClient.get(),
    analyze: (step) => queryAnalysisApiClient.get(range(step), step.query),
  };
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const step = JSON.parse(line);
    let told;
    try {
      const answer = await steps[step.do](step);
      told = { answer: plain(answer && answer.services instanceof Map ? { services: plain(answer.services), metrics: plain(answer.profileMetrics) } : answer) ?? null };
    } catch (error) {
      told = { error: String(error), stack: String(error.stack), reason: error.reason };
    }
    process.stdout.write(JSON.stringify(told) + "\n");
  }
}

run();
