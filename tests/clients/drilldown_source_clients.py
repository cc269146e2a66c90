#!/usr/bin/env python3
"""Traces Drilldown's own code against a server: it writes the queries of its screens, and what it parses itself of the
answers (the structure tab's raw traces, the exceptions tab) it parses. SPANFLAME_TRACES_DRILLDOWN_SOURCE is the folder with
a checkout, which is not written to; packages beside it are not needed."""
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow")]
import toolchain  # noqa: E402
from toolchain import tap  # noqa: E402

SOURCE = os.environ.get("SPANFLAME_TRACES_DRILLDOWN_SOURCE", "")
ESBUILD = os.path.join(os.environ["SOURCE_ROOT"], "web", "node_modules", "esbuild", "lib", "main.js")
if not os.path.exists(os.path.join(SOURCE or "/nowhere", "src", "utils", "trace-merge", "merge.ts")):
    print("1..0 # SKIP SPANFLAME_TRACES_DRILLDOWN_SOURCE is no checkout of Traces Drilldown")
    sys.exit(0)
if not os.path.exists(ESBUILD):
    print("1..0 # SKIP the page's esbuild is not installed")
    sys.exit(0)

import shop_data  # noqa: E402
from server import Server  # noqa: E402

home = tempfile.TemporaryDirectory()
CLIENT = os.path.join(home.name, "drilldown.cjs")
toolchain.run("bundling Traces Drilldown", ["node", os.path.join(toolchain.HERE, "drilldown_source", "bundle.mjs"), ESBUILD, SOURCE,
                                                os.path.join(toolchain.HERE, "drilldown_source", "read.js"), CLIENT])
server = Server().start()
TRACES = shop_data.fill(server)
START, END = int(time.time()) - 1800, int(time.time()) + 10


def ask(**step):
    done = subprocess.run(["node", CLIENT], input=json.dumps(step) + "\n", capture_output=True, text=True, timeout=60, check=True)
    told = json.loads(done.stdout)
    assert "error" not in told, (step["do"], told)
    return told


def get(path, **params):
    answer = server.get(path + "?" + urllib.parse.urlencode({**params, "start": START, "end": END}), headers={"Accept": "application/json"})
    assert answer.status == 200, (path, params, answer.status, answer.text)
    return answer.text


QUERIES = ask(do="queries")


def test_every_metrics_query_that_its_code_writes_is_answered():
    assert len(QUERIES["metrics"]) > 200 and len(QUERIES["signals"]) == 5, len(QUERIES["metrics"])
    n_series = 0
    for query in QUERIES["metrics"]:
        n_series += len(json.loads(get("/api/metrics/query_range", q=query, step="1800s", exemplars=10)).get("series", []))
    assert n_series > 300, n_series


def test_the_structure_tab_draws_our_traces():
    """Its merge wants one spanset of each trace and the nested set's numbers of each span, or it throws."""
    select = "select(status, resource.service.name, name, nestedSetParent, nestedSetLeft, nestedSetRight)"
    seen = set()
    for signal in QUERIES["signals"][:3]:
        for above, below in (("", "kind = server"), ("&& status = error", "status = error"), ("&& duration > 1ms", "duration > 1ms")):
            roots = f"{{{signal} && true {above}}}"
            tree = ask(do="structure", answer=get("/api/search", q=f"({roots} &>> {{ {below} }}) || ({roots}) | {select}", limit=200, spss=20))["tree"]
            lines = tree.splitlines()
            assert lines[0] == "root 0" and len(lines) > 1, tree
            seen |= {(len(line) - len(line.lstrip()), line.split()[0].split(":")[0]) for line in lines[1:]}
    assert (2, "shop") in seen and any(depth > 2 for depth, _ in seen), seen


def test_the_exceptions_tab_finds_its_messages_again():
    rows, signal = [], QUERIES["signals"][1]  # all spans
    query = next(q for q in QUERIES["search"] if q.startswith(f"{{{signal} && true && "))
    for trace in json.loads(get("/api/search", q=query, limit=400, spss=10)).get("traces", []):
        for spans in trace["spanSets"]:
            for span in spans["spans"]:
                found = {a["key"]: next(iter(a["value"].values())) for a in span["attributes"]}
                rows.append([found.get("exception.message"), found.get("exception.type"), int(span["startTimeUnixNano"]) // 10**6, found.get("service.name")])
    told = ask(do="exceptions", rows=rows)
    assert rows and told["messages"] and all(told["types"]) and all(told["services"]), (rows, told)
    for condition, n in zip(told["filters"], told["occurrences"]):
        again = json.loads(get("/api/search", q=f"{{{signal} && true && status = error && {condition}}}", limit=400, spss=100))["traces"]
        assert sum(spans["matched"] for trace in again for spans in trace["spanSets"]) == n, (condition, n, again)
    for query in QUERIES["search"]:
        get("/api/search", q=query, limit=400, spss=10)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
