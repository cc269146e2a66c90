#!/usr/bin/env python3
"""Arithmetic between TraceQL metrics queries, sample by sample: tests/golden/traceql_math.txt has what Tempo's engine
answers on six spans."""
import json
import os
import re
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from server import Server, tap  # noqa: E402
from traceql_spans import attr  # noqa: E402

# Second 100 of the worked example; a multiple of the step, so that nothing is aligned.
BASE_S = (int(time.time()) - 3600) // 1000 * 1000
STATUS = {"error": 2, "ok": 1}
SPANS = [(105, "a", "error", 4), (106, "a", "ok", 2), (107, "b", "ok", 1), (115, "a", "ok", 2), (125, "b", "error", 8),
         (126, "c", "ok", 1)]
server = Server().start()


def body(at, number):
    start_s, service, status, duration_s = at
    start_ns = (BASE_S - 100 + start_s) * 10**9
    attrs = [attr("r", "eu")] + ([attr("n", duration_s)] if duration_s > 1 else [])
    one = {"traceId": f"{number:032x}", "spanId": f"{number:016x}", "name": "work", "kind": 1,
           "startTimeUnixNano": str(start_ns), "endTimeUnixNano": str(start_ns + duration_s * 10**9),
           "attributes": attrs, "status": {"code": STATUS[status]}}
    return json.dumps({"resourceSpans": [{"resource": {"attributes": [attr("service.name", service)]},
                                          "scopeSpans": [{"scope": {}, "spans": [one]}]}]})


def golden():
    """(query, {labels: {time: value}})."""
    path = os.path.join(os.environ["SOURCE_ROOT"], "tests", "golden", "traceql_math.txt")
    wanted = []
    with open(path, encoding="utf-8") as f:
        for line in f.read().splitlines():
            if line.startswith("#"):
                continue
            if not line.startswith(" "):
                wanted.append((line, {}))
            elif "(no series)" not in line:
                labels, samples = re.fullmatch(r"\s+(?:ours:\s*)?\{(.*?)\}((?: \d+:\S+)*)", line).groups()
                wanted[-1][1][labels.replace("`", "")] = {int(t): float(v) for t, v in
                                                          (s.split(":") for s in samples.split())}
    return wanted


def told(series):
    def text(value):
        (kind, v), = value.items()
        return f"{v:.10g}" if kind == "doubleValue" else str(v)
    labels = ", ".join(f"{a['key']}={text(a['value'])}" for a in series["labels"])
    samples = {int(s["timestampMs"]) // 1000 - BASE_S + 100: s.get("value", 0) for s in series["samples"]}
    samples.pop(100, None)  # a range has one step before its start; the recorded one has not
    return labels, samples


def is_same(got, want):
    return got.keys() == want.keys() and all(
        got[k].keys() == want[k].keys() and all(abs(got[k][t] - v) <= 1e-9 * max(1, abs(v)) for t, v in want[k].items())
        for k in want)


def test_worked_arithmetic_has_the_recorded_samples():
    for number, at in enumerate(SPANS, 1):
        assert server.post("/v1/traces", body(at, number), "application/json").status == 200
    wrong = []
    queries = golden()
    assert len(queries) > 45, len(queries)
    for query, want in queries:
        window = {"q": query, "start": BASE_S + 1, "end": BASE_S + 30, "step": "10s"}
        answer = server.get("/api/metrics/query_range?" + urllib.parse.urlencode(window))
        got = dict(told(s) for s in json.loads(answer.body)["series"]) if answer.status == 200 else {answer.text: {0: 0}}
        got = {labels: samples for labels, samples in got.items() if samples}
        if not is_same(got, want):
            wrong.append(f"{query}\n gives {got}\n not   {want}")
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
