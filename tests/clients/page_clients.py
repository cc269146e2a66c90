#!/usr/bin/env python3
"""The programs of the language pages (docs/go.md, docs/python.md), copied from there as they stand and run against a server:
the planted function is exact in each span, and the lines of coverage are on the page."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

SOURCE = os.environ["SOURCE_ROOT"]
sys.path[:0] = [os.path.dirname(__file__), os.path.join(SOURCE, "tests", "flow")]
import toolchain  # noqa: E402
from pprof_make import pprof  # noqa: E402
from server import Server, make_span, tap  # noqa: E402

CART = {"GET /cart": "renderCart", "check price rules": "matchRules", "apply tax": "computeTax"}
PYTHON = {"GET /cart": "render_cart", "check price rules": "match_rules", "apply tax": "compute_tax", "load user": "load_user",
          "load offers": "load_offers"}


GO = {"GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false -mod=mod", "GOPROXY": "off"}


def page(name):
    with open(os.path.join(SOURCE, "docs", name), encoding="utf-8") as f:
        return f.read()


def blocks(text):
    """{file name: content} of the blocks that are files."""
    return {m[1]: m[2] for m in re.finditer(r"^`([\w./-]+)`:\n\n```\w+\n(.*?)^```$", text, re.S | re.M)}


def wait_for(what, seconds=120):
    end = time.monotonic() + seconds
    while True:
        found = what()
        if found or time.monotonic() > end:
            return found
        time.sleep(0.2)


def spans_of(server, name):
    query = urllib.parse.quote(f'{{ resource.service.name = "my-service" && name = "{name}" }}')
    traces = server.json(f"/api/search?q={query}&limit=100&spss=10").get("traces") or []
    return [(t["traceID"], s["spanID"]) for t in traces for s in t["spanSets"][0]["spans"]]


def check(server, planted, n):
    """Every span has samples of its own function, by its id, and no other planted one."""
    for name, function in planted.items():
        spans = wait_for(lambda: spans_of(server, name))
        assert len(spans) == n.get(name, 2), (name, spans)
        for trace, span in spans:
            path = f"/api/v1/spans/{trace}/{span}/profile?self=true"
            answer = wait_for(lambda: [a for a in [server.json(path)] if a["grades"]["exact"]["samples"] > 0])
            assert answer, (name, server.json(path)["reason"])
            names = {f["function"].split(".")[-1].split(" ")[0] for f in answer[0]["profile"]["frames"]}
            others = set(planted.values()) - {function}
            assert function in names and not names & others, (name, sorted(names))
            assert all(answer[0]["grades"][g]["samples"] == 0 for g in ("shared", "window")), answer[0]["grades"]


def run(argv, folder, server, **more):
    env = dict(os.environ, OTEL_SERVICE_NAME="my-service", OTEL_EXPORTER_OTLP_PROTOCOL="http/protobuf",
               OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{server.port}", **more)
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=400, check=False, env=env)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_go_page():
    toolchain.client("pyroscope_go")  # its modules are here then
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        for name in ("go.mod", "go.sum"):
            with open(os.path.join(toolchain.HERE, "pyroscope_go", name), encoding="utf-8") as f:
                text = re.sub(r"^module .*$", "module my-service", f.read(), flags=re.M)
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        os.mkdir(os.path.join(folder, "spanflame"))
        shutil.copy(os.path.join(SOURCE, "clients", "go", "spanflame.go"), os.path.join(folder, "spanflame"))
        files = blocks(page("go.md"))
        assert list(files) == ["main.go"], files
        with open(os.path.join(folder, "main.go"), "w", encoding="utf-8") as f:
            f.write(files["main.go"])
        shutil.copy(os.path.join(toolchain.HERE, "page_go", "spanflame_test.go"), os.path.join(folder, "spanflame"))
        run(["go", "vet", "./..."], folder, server, **GO)
        run(["go", "test", "./spanflame"], folder, server, **GO)
        run(["go", "run", "."], folder, server, **GO)
        check(server, CART, {})


def test_the_python_page():
    python = toolchain.client("pyroscope_python")[0]
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        shutil.copy(os.path.join(SOURCE, "clients", "python", "spanflame_profiling.py"), folder)
        files = blocks(page("python.md"))
        assert list(files) == ["app.py"], files
        with open(os.path.join(folder, "app.py"), "w", encoding="utf-8") as f:
            f.write(files["app.py"])
        run([python, "app.py"], folder, server, PYTHONDONTWRITEBYTECODE="1")
        check(server, PYTHON, {"load user": 1, "load offers": 1})


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
        for language, name in (("go", "go.md"), ("python", "python.md")):
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
                code = line.split("  # ")[0].strip()
                if code.startswith("//"):
                    continue
                assert code.replace(address, "http://127.0.0.1:4040") in text, (name, line)
                if kind != "root_span_ids":
                    assert code.replace(address, "${server}").removeprefix("import ") in steps, (name, line)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
