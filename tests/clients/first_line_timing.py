#!/usr/bin/env python3
"""How long from nothing to the first line of code of an own service: first_line_timing.py [LANGUAGE...].

In an empty folder, with empty caches of packages and of compilers: starts a server, pastes what its page says as first
steps (Java, Rust by its crates: the program of their pages), installing included, and asks until the flame graph of the
span names a line of that program. Prints seconds for each language, with the CPU time that they took and the machine's load;
compilers and the server's program are there before. Asserts nothing."""
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
os.environ.setdefault("SOURCE_ROOT", ROOT)
os.environ.setdefault("BUILD_ROOT", os.path.join(ROOT, "build"))
os.environ.setdefault("SPANFLAME", os.path.join(ROOT, "build", "spanflame"))
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(ROOT, "tests", "flow")]
import first_use_clients  # noqa: E402
import pages  # noqa: E402
from server import PROGRAM, Server  # noqa: E402

MAVEN = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>a</groupId>
<artifactId>my-service</artifactId><version>1</version><packaging>pom</packaging><dependencies>%s</dependencies></project>"""


def empty_caches(folder):
    """Where the languages' tools keep what they had before; settings of the user stay."""
    made = {key: os.path.join(folder, name) for key, name in (
        ("GOMODCACHE", "go-modules"), ("GOCACHE", "go-build"), ("npm_config_cache", "npm"), ("CARGO_HOME", "cargo"))}
    os.makedirs(made["CARGO_HOME"])
    for name in ("config.toml", "config"):
        kept = os.path.join(os.path.expanduser("~/.cargo"), name)
        if os.path.exists(kept):
            shutil.copy(kept, made["CARGO_HOME"])
    return {**made, "PIP_NO_CACHE_DIR": "1", "GOFLAGS": "-buildvcs=false -modcacherw"}


def pasted(name):
    return lambda folder, server: first_use_clients.texts(server)[name]


def go(folder, server):
    """With the versions that the tests pin: of the newest ones not every registry has all parts."""
    for name in ("go.mod", "go.sum"):
        shutil.copy(os.path.join(ROOT, "tests", "clients", "pyroscope_go", name), folder)
    text = first_use_clients.texts(server)["Go"]
    return re.sub(r"^go get .*$", "go mod download", re.sub(r"^go mod init .*\n", "", text, flags=re.M), flags=re.M)


def python(folder, server):
    return f"python3 -m venv {folder}/venv\n. {folder}/venv/bin/activate\n" + first_use_clients.texts(server)["Python"]


def write_page(language, folder, clients):
    for path, content in pages.blocks(pages.page(f"{language}.md")).items():
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
            f.write(content)
    for name, to in clients:
        pages.copy_client(language, name, folder, to)


def exports(server):
    return f"export OTEL_SERVICE_NAME=my-service OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf OTEL_EXPORTER_OTLP_ENDPOINT={server}\n" \
        "export SPANFLAME_PROFILING_LOAD_SHEDDING_ENABLED=false OTEL_METRICS_EXPORTER=none OTEL_LOGS_EXPORTER=none\n"


def java(folder, server):
    write_page("java", folder, [("Spanflame.java", "")])
    wanted = "".join(f"<dependency><groupId>{g}</groupId><artifactId>{a}</artifactId><version>{v}</version></dependency>" for g, a, v in (
        ("io.opentelemetry.javaagent", "opentelemetry-javaagent", "2.33.1"), ("io.pyroscope", "agent", "2.9.2"),
        ("io.opentelemetry", "opentelemetry-api", "1.67.0"),
        ("io.opentelemetry", "opentelemetry-sdk-extension-autoconfigure-spi", "1.67.0")))
    with open(os.path.join(folder, "pom.xml"), "w", encoding="utf-8") as f:
        f.write(MAVEN % wanted)
    return f"mvn -q -B -Dmaven.repo.local={folder}/maven dependency:copy-dependencies -DoutputDirectory=lib\n" \
        "sh build.sh\n" + exports(server) + "sh run.sh App"


def rust(folder, server):
    write_page("rust", folder, [("spanflame.rs", "src"), ("control.rs", "src")])
    return exports(server) + "cargo run --bin my-service"


def c(folder, server):
    return f"{ROOT}/tools/install {folder}/usr >/dev/null\nexport PKG_CONFIG_PATH={folder}/usr/lib/pkgconfig " \
        f"LD_LIBRARY_PATH={folder}/usr/lib\n" + first_use_clients.texts(server)["C and C++"]


LANGUAGES = {"c": c, "go": go, "java": java, "node": pasted("Node.js"), "python": python, "rust": rust,
             "rust-record": pasted("Rust")}


def ask(server, path):
    try:
        with urllib.request.urlopen(server + path) as answer:
            return json.load(answer)
    except urllib.error.HTTPError:
        return {}


def first_line(server, is_span):
    """`function  file:line` of the program's own code, once it is there."""
    path = "/api/v1/profile?app=my-service&format=json"
    if is_span:
        found = ask(server, "/api/search?q=" + urllib.parse.quote('{ name = "GET /cart" }')).get("traces")
        if not found:
            return None
        path = f"/api/v1/spans/{found[0]['traceID']}/{found[0]['spanSets'][0]['spans'][0]['spanID']}/profile"
    profile = ask(server, path)
    frames = profile.get("profile", profile).get("frames", [])
    # JFR has lines and no files.
    own = [f for f in frames if f.get("line") and (re.search(r"(^|/)(app|main)\.\w+$", f.get("file", "")) or f["function"].startswith("App."))]
    return (own[-1]["function"], f"{own[-1].get('file') or 'line'}:{own[-1]['line']}") if own else None


def measure(language):
    with tempfile.TemporaryDirectory() as folder:
        work, caches = os.path.join(folder, "work"), os.path.join(folder, "caches")
        os.makedirs(work)
        env = {**os.environ, **empty_caches(caches), "PATH": os.path.dirname(PROGRAM) + ":" + os.environ["PATH"]}
        begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        with Server() as server:
            address = f"http://127.0.0.1:{server.port}"
            done = subprocess.run(["bash", "-euc", LANGUAGES[language](work, address)], cwd=work, env=env, capture_output=True,
                                  text=True, check=False, stdin=subprocess.DEVNULL)
            if done.returncode:
                return f"failed: {(done.stdout + done.stderr)[-800:]}"
            ran = time.monotonic() - begin
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
            while time.monotonic() - begin < 900:
                line = first_line(address, language != "rust-record")
                if line:
                    return f"{time.monotonic() - begin:.0f} s (installed, built and run after {ran:.0f} s, {cpu:.0f} s of CPU, load {os.getloadavg()[0]:.0f}): {line[0]} at {os.path.basename(line[1])}"
                time.sleep(0.5)
            return "no line came"


if __name__ == "__main__":
    for one in sys.argv[1:] or LANGUAGES:
        print(f"{one}: {measure(one)}", flush=True)
