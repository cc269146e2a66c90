#!/usr/bin/env python3
"""What the page tells somebody with an empty store to paste, pasted: each text runs as it stands, but for the lines that
install packages, which are here at fixed versions. Then the service is there, with a span and samples of its own."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE = os.environ["SOURCE_ROOT"]
sys.path[:0] = [os.path.dirname(__file__), os.path.join(SOURCE, "tests", "flow")]
import toolchain  # noqa: E402
from server import Server, tap  # noqa: E402

INSTALLS = re.compile(r"^(pip|npm|gem) install .*$|^go (get|mod init) .*$|^dotnet add .*$", re.M)
READ = """
import {{ transform }} from "esbuild";
import {{ readFileSync }} from "node:fs";
const {{ code }} = await transform(readFileSync("src/views/recipes.ts", "utf8"), {{ loader: "ts" }});
const {{ RECIPES }} = await import("data:text/javascript," + encodeURIComponent(code));
console.log(JSON.stringify(Object.fromEntries(RECIPES.map((r) => [r.name, r.text({server})]))));
"""


def texts(server):
    web = os.path.join(SOURCE, "web")
    if not shutil.which("node") or not os.path.isdir(os.path.join(web, "node_modules", "esbuild")):
        raise tap.Skip("there is no Node here to read the page's texts")
    done = subprocess.run(["node", "--input-type=module", "-e", READ.format(server=json.dumps(server))], cwd=web,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def paste(name, prepare=None, env=None, **more):
    """Runs the text of that name; gives a server that has what it sent."""
    server = Server().start()
    text = texts(f"http://127.0.0.1:{server.port}")[name]
    with tempfile.TemporaryDirectory() as folder:
        if prepare:
            prepare(folder)
        done = subprocess.run(["bash", "-euc", INSTALLS.sub("", text)], cwd=folder, capture_output=True, text=True,
                              timeout=240, check=False, env=dict(os.environ, **(env or {})), **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return server


def wait_for(what, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError("nothing came")


def check_span(server):
    """The span is there, and its own flame graph has samples."""
    found = wait_for(lambda: server.json("/api/search?q=%7B%20name%20%3D%20%22GET%20%2Fcart%22%20%7D").get("traces"))
    trace = server.json("/api/v1/trace/" + found[0]["traceID"])
    assert [s["service"] for s in trace["spans"]] == ["my-service"], trace["spans"]
    span = trace["spans"][0]["spanId"]
    profile = wait_for(lambda: [p for p in [server.json(f"/api/v1/spans/{found[0]['traceID']}/{span}/profile")]
                                if p["profile"]["total"] > 0])[0]
    assert profile["samples"] > 0, profile["reason"]


def test_c():
    toolchain.need("cc", "pkg-config")
    with tempfile.TemporaryDirectory() as prefix:
        subprocess.run([os.path.join(SOURCE, "tools", "install"), prefix], check=True, stdout=subprocess.DEVNULL)
        lib = os.path.join(prefix, "lib")
        check_span(paste("C and C++", env={"PKG_CONFIG_PATH": os.path.join(lib, "pkgconfig"), "LD_LIBRARY_PATH": lib}))


def test_go():
    toolchain.client("pyroscope_go")  # its modules are here then

    def prepare(folder):
        for name in ("go.mod", "go.sum"):
            shutil.copy(os.path.join(toolchain.HERE, "pyroscope_go", name), folder)
    check_span(paste("Go", prepare, {"GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false -mod=mod", "GOPROXY": "off"}))


def test_python():
    python = toolchain.client("pyroscope_python")[0]
    check_span(paste("Python", env={"PATH": os.path.dirname(python) + ":" + os.environ["PATH"]}))


def test_node():
    packages, = toolchain.client("page_node")

    def prepare(folder):
        os.symlink(os.path.join(packages, "node_modules"), os.path.join(folder, "node_modules"))
    check_span(paste("Node.js", prepare))


def test_rust():
    toolchain.need("rustc")
    server = paste("Rust", env={"PATH": os.path.dirname(os.environ["SPANFLAME"]) + ":" + os.environ["PATH"]})
    found = wait_for(lambda: [p for p in [server.json("/api/v1/profile?app=my-service&format=json")] if p["total"] > 0])[0]
    assert any(f["function"].startswith("app::") for f in found["frames"]), found["frames"]


def test_a_file():
    def prepare(folder):
        from pprof_make import pprof
        with open(os.path.join(folder, "profile.pb.gz"), "wb") as f:
            f.write(pprof({"main;work": 10**9}))
    server = paste("A file", prepare)
    assert server.json("/api/v1/profile?app=my-service&format=json")["total"] == 10**9


def test_the_rest_can_at_least_be_read_by_a_shell():
    all_texts = texts("http://127.0.0.1:4040")
    for name in ("Java", ".NET", "Ruby", "Rust", "Go", "Python", "Node.js", "C and C++"):
        done = subprocess.run(["bash", "-n", "-c", all_texts[name]], capture_output=True, text=True, check=False)
        assert done.returncode == 0 and not done.stderr, (name, done.stderr)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
