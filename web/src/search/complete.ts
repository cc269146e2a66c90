// What may come next in a TraceQL query, by the text before the caret.

export type Kind = "key" | "operator" | "value" | "join" | "function";

export interface Place {
  readonly kind: Kind;
  /** Where the word under the caret begins; what is chosen replaces it */
  readonly from: number;
  readonly word: string;
  /** Of values: whose */
  readonly key: string;
}

const KEY = /(?:[A-Za-z_][\w:]*\.)?(?:"(?:[^"\\]|\\.)*"|[A-Za-z_.][\w.:/-]*)/;
const AFTER_OPERATOR = new RegExp(`(${KEY.source})\\s*(=~|!~|!=|>=|<=|=|>|<)\\s*("(?:[^"\\\\]|\\\\.)*|[^\\s"(){}&|=<>!~]*)$`);
const AFTER_KEY = new RegExp(`(?:^|[{(&|!\\s])(${KEY.source})\\s+([=!<>~]*)$`);
const DONE = /(?:=~|!~|!=|>=|<=|=|>|<)\s*(?:"(?:[^"\\]|\\.)*"|[^\s"(){}&|=<>!~]+)\s+([&|]*)$/;
const WORD = /[\w.:/-]*$/;

/** Whether the caret stands inside braces, and not inside a string. */
function braces(before: string): { inside: boolean; inString: boolean } {
  let depth = 0;
  let inString = false;
  for (let i = 0; i < before.length; i++) {
    const c = before[i];
    if (inString) {
      if (c === "\\") i++;
      else if (c === '"') inString = false;
    } else if (c === '"') inString = true;
    else if (c === "{") depth++;
    else if (c === "}") depth = Math.max(0, depth - 1);
  }
  return { inside: depth > 0, inString };
}

export function placeAt(text: string, caret: number): Place {
  const before = text.slice(0, caret);
  const { inside, inString } = braces(before);
  const word = WORD.exec(before)?.[0] ?? "";
  const from = caret - word.length;
  if (!inside) return { kind: /\|\s*\w*$/.test(before) || /\bby\s*\([^)]*$/.test(before) ? (/\bby\s*\([^)]*$/.test(before) ? "key" : "function") : "join", from, word, key: "" };
  const value = AFTER_OPERATOR.exec(before);
  if (value) {
    const typed = value[3] ?? "";
    return { kind: "value", from: caret - typed.length, word: typed.replace(/^"/, ""), key: value[1] ?? "" };
  }
  if (inString) return { kind: "join", from: caret, word: "", key: "" };
  const done = DONE.exec(before);
  if (done) return { kind: "join", from: caret - (done[1]?.length ?? 0), word: done[1] ?? "", key: "" };
  const key = AFTER_KEY.exec(before);
  if (key && !/^(&&|\|\|)$/.test(key[1] ?? "")) return { kind: "operator", from: caret - (key[2]?.length ?? 0), word: key[2] ?? "", key: key[1] ?? "" };
  return { kind: "key", from, word, key: "" };
}

export const OPERATORS = ["=", "!=", "=~", "!~", ">", ">=", "<", "<="];
export const JOINS_INSIDE = ["&&", "||", "}"];
export const JOINS_OUTSIDE = ["{ }", "| rate()", "&& { }", ">> { }", "> { }", "|| { }"];
export const FUNCTIONS = [
  "count() > 1", "avg(duration) > 100ms", "max(duration) > 1s", "min(duration) > 1ms", "sum(duration) > 1s",
  "select(span.http.route)", "by(resource.service.name)", "coalesce()",
  "rate()", "count_over_time()", "quantile_over_time(duration, .95)", "histogram_over_time(duration)",
  "avg_over_time(duration)", "max_over_time(duration)", "min_over_time(duration)", "sum_over_time(duration)",
  "compare({ status = error })", "topk(10)", "bottomk(10)",
];

/** Where the server saw the fault, as an offset: it says line and column. */
export function faultAt(text: string, message: string): number {
  const m = /line (\d+), col(?:umn)? (\d+)/.exec(message);
  if (!m) return -1;
  const lines = text.split("\n");
  const line = Math.min(Number(m[1]), lines.length);
  let at = 0;
  for (let i = 0; i < line - 1; i++) at += (lines[i]?.length ?? 0) + 1;
  return Math.min(at + Math.max(0, Number(m[2]) - 1), text.length);
}

/** What a list of offers says of those it does not show: of all that fit, and of values beyond the first ones (`asked`; 0: all are there). */
export function moreOf(fit: number, shown: number, asked: number): string {
  const said: string[] = [];
  if (fit > shown) said.push(`${String(fit - shown)} more: type on to narrow them`);
  if (asked > 0) said.push(`only the first ${String(asked)} values are offered`);
  return said.join("; ");
}

export interface Form {
  service: string;
  name: string;
  status: string;
  minDuration: string;
  maxDuration: string;
  tags: string;
}

/** Form fields as the TraceQL they mean. Tags are key=value, separated by spaces. */
export function queryOf(f: Form): string {
  const parts: string[] = [];
  if (f.service !== "") parts.push(`resource.service.name = ${JSON.stringify(f.service)}`);
  if (f.name !== "") parts.push(`name = ${JSON.stringify(f.name)}`);
  if (f.status !== "") parts.push(`status = ${f.status}`);
  if (/^\d+(\.\d+)?(ns|us|µs|ms|s|m|h)$/.test(f.minDuration)) parts.push(`duration >= ${f.minDuration}`);
  if (/^\d+(\.\d+)?(ns|us|µs|ms|s|m|h)$/.test(f.maxDuration)) parts.push(`duration <= ${f.maxDuration}`);
  for (const m of f.tags.matchAll(/([\w.\-/]+)=("(?:[^"\\]|\\.)*"|\S+)/g)) {
    const val = m[2] ?? "";
    parts.push(`.${m[1] ?? ""} = ${/^("|-?\d+(\.\d+)?$|true$|false$)/.test(val) ? val : JSON.stringify(val)}`);
  }
  return parts.length === 0 ? "{ }" : `{ ${parts.join(" && ")} }`;
}
