#!/usr/bin/env python3
"""The programs of the language pages (docs/go.md and its like), copied from there as they stand and run against a server:
the planted function is exact in each span, and the lines of coverage are on the page."""
import os
import re
import shutil
import sys
import urllib.parse

SOURCE = os.environ["SOURCE_ROOT"]
sys.path[:0] = [os.path.dirname(__file__), os.path.join(SOURCE, "tests", "flow")]
import pages  # noqa: E402
import toolchain  # noqa: E402
from pages import page, wait_for  # noqa: E402
from pprof_make import pprof  # noqa: E402
from server import Server, make_span, tap  # noqa: E402

CART = {"GET /cart": "renderCart", "check price rules": "matchRules", "apply tax": "computeTax"}
RUST = {"GET /cart": "render_cart", "check price rules": "match_rules", "apply tax": "compute_tax"}
PYTHON = {"GET /cart": "render_cart", "check price rules": "match_rules", "apply tax": "compute_tax", "load user": "load_user",
          "load offers": "load_offers"}


def spans_of(server, name):
    query = urllib.parse.quote(f'{{ resource.service.name = "my-service" && name = "{name}" }}')
    traces = server.json(f"/api/search?q={query}&limit=100&spss=10").get("traces") or []
    return [(t["traceID"], s["spanID"]) for t in traces for s in t["spanSets"][0]["spans"]]


def values_of(server, path, planted):
    """{planted function: value} in a span's folded stacks."""
    values = {}
    for line in server.get(path + "&format=folded").text.splitlines():
        stack, value = line.rsplit(" ", 1)
        for word in set(re.findall(r"\w+", stack)) & set(planted.values()):
            values[word] = values.get(word, 0) + int(value)
    return values


def check(server, planted, n, most_wrong=0.0, least_exact=1.0, types=("cpu",)):
    """Every span has samples of its own function, by its id, and no other planted one (or that share of it, at most), in every
    type of profile that names spans, and these types at least; gives the largest such share."""
    worst = 0.0
    for name, function in planted.items():
        wanted = n.get(name, 2)
        spans = wait_for(lambda: [s for s in [spans_of(server, name)] if len(s) >= wanted])
        assert spans and len(spans[0]) == wanted, (name, spans_of(server, name))
        for trace, span in spans[0]:
            path = f"/api/v1/spans/{trace}/{span}/profile?self=true"
            answer = wait_for(lambda: [a for a in [server.json(path)] if a["grades"]["exact"]["samples"] > 0])
            assert answer, (name, server.json(path)["reason"])
            grades = {g: v["value"] for g, v in answer[0]["grades"].items()}
            assert grades["shared"] + grades["window"] <= (1 - least_exact) * sum(grades.values()), grades
            named = set()
            for kind in answer[0]["types"]:
                typed = path + "&type=" + urllib.parse.quote(kind)
                if server.json(typed)["grades"]["exact"]["samples"] == 0:
                    continue
                named.add(kind.split(":")[1])
                values = values_of(server, typed, planted)
                wrong = sum(values.values()) - values.get(function, 0)
                assert values.get(function, 0) > 0 and wrong <= most_wrong * sum(values.values()), (name, kind, values)
                worst = max(worst, wrong / sum(values.values()))
            assert set(types) <= named, (name, named, answer[0]["types"])
    return worst


def test_the_go_page():
    with pages.program("go") as go, Server() as server:
        shutil.copy(os.path.join(toolchain.HERE, "page_go", "spanflame_test.go"), os.path.join(go.folder, "spanflame"))
        pages.run(["go", "vet", "./..."], go.folder, server, **go.env)
        pages.run(["go", "test", "./spanflame"], go.folder, server, **go.env)
        go.run(server)
        check(server, CART, {})


def test_the_python_page():
    # pyroscope-io reads a thread's stack and then its tags, and a span may begin in between: seldom, unless the machine is
    # busy. What is wrong whenever it runs has no run in which less than one sample in thirty is another span's.
    with pages.program("python") as python:
        for _ in range(5):
            with Server() as server:
                python.run(server)
                worst = check(server, PYTHON, {"load user": 1, "load offers": 1}, most_wrong=0.25)
            if worst < 1 / 30:
                return
        raise AssertionError(f"{worst:.3f} of a span's samples are another's")


def test_the_node_page():
    with pages.program("node") as node, Server() as server:
        node.run(server)
        check(server, CART, {}, types=("cpu", "wall"))


def test_the_java_page():
    with pages.program("java") as java, Server() as server:
        java.run(server)
        check(server, CART, {})


def test_the_c_page():
    with pages.program("cpp") as program, Server() as server:
        program.run(server)
        check(server, RUST, {})


def test_the_rust_page():
    with pages.program("rust") as rust, Server() as server:
        rust.run(server)
        # Whole upload intervals: what names no span (threads that start and end) is divided among all of them.
        check(server, {**RUST, "load user": "load_user", "load offers": "load_offers"}, {"load user": 1, "load offers": 1}, least_exact=0.9)


def test_the_ruby_page():
    with pages.program("ruby") as ruby, Server() as server:
        ruby.run(server)
        check(server, RUST, {}, least_exact=0.9)


def test_the_dotnet_page():
    with pages.program("dotnet") as dotnet, Server() as server:
        dotnet.env["PYROSCOPE_SERVER_ADDRESS"] = f"http://127.0.0.1:{server.port}"
        dotnet.run(server)
        check(server, {"GET /cart": "RenderCart"}, {"GET /cart": 1}, least_exact=0.9)


def lines_of(server, service, language, kind):
    """None before its spans are found, which is a moment after they are acknowledged: they say the language."""
    answer = server.json(f"/api/v1/coverage?service={service}")
    if answer.get("language") != language:
        return []
    return [line for m in answer.get("missing") or [] if m["kind"] == kind for line in m["lines"]]


def test_coverage_the_docs_and_the_pages_first_steps_have_the_same_lines():
    with open(os.path.join(SOURCE, "web", "src", "views", "recipes.ts"), encoding="utf-8") as f:
        steps = f.read()
    with Server() as server:
        address = f"http://127.0.0.1:{server.port}"
        for language, name in (("go", "go.md"), ("python", "python.md"), ("nodejs", "node.md"), ("java", "java.md"), ("rust", "rust.md")):
            text, found = page(name), []
            for kind in ("no_profiles", "no_span_ids", "root_span_ids"):
                service = f"my-{language}-{kind.replace('_', '-')}"
                root = make_span(service=service, ms=1000, resource={"telemetry.sdk.language": language})
                child = make_span(service=service, trace=root["trace_id"], parent=root["span_id"], ms=500)
                server.send([root, child])
                labels = (("span_id", root["span_id"].hex()),) if kind == "root_span_ids" else ()
                if kind != "no_profiles":
                    body = pprof({("main;work", labels): 10**9} if labels else {"main;work": 10**9})
                    assert server.post(f"/api/v1/profile?service={service}", body, "application/octet-stream").status == 200
                lines = wait_for(lambda: lines_of(server, service, language, kind), 30)
                assert lines, (language, kind, server.json(f"/api/v1/coverage?service={service}"))
                found += [(kind, line.replace(service, "my-service")) for line in lines]
            for kind, line in found:
                code = re.split(r" +(?:#|//) ", line)[0].strip()
                code = code.removesuffix(" ...")
                if code.startswith(("//", "#")):
                    continue
                assert code.replace(address, "http://127.0.0.1:4040") in text, (name, line)
                if kind != "root_span_ids":
                    assert code.replace(address, "${server}").removeprefix("import ") in steps, (name, line)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
