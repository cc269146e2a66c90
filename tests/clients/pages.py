"""pages.py - the programs of the language pages (docs/go.md and its like), copied from there as they stand, in a folder
with the file of clients/ and the packages they name."""
import contextlib
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
from server import free_port, tap  # noqa: E402

GO = {"GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false -mod=mod", "GOPROXY": "off"}
# What a busy machine must not change in a test.
CALM = {"SPANFLAME_PROFILING_LOAD_SHEDDING_ENABLED": "false"}


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


def environment(server, **more):
    url = f"http://127.0.0.1:{server.port}"
    return {**os.environ, "OTEL_SERVICE_NAME": "my-service", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_ENDPOINT": url, **CALM, **more}


def run(argv, folder, server, **more):
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=400, check=False,
                          env=environment(server, **more))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# ---- what each language needs beside its page ----

def copy_client(language, name, folder, to=""):
    os.makedirs(os.path.join(folder, to), exist_ok=True)
    shutil.copy(os.path.join(SOURCE, "clients", language, name), os.path.join(folder, to))


def go(folder):
    toolchain.client("pyroscope_go")  # its modules are here then
    for name in ("go.mod", "go.sum"):
        with open(os.path.join(toolchain.HERE, "pyroscope_go", name), encoding="utf-8") as f:
            text = re.sub(r"^module .*$", "module my-service", f.read(), flags=re.M)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    copy_client("go", "spanflame.go", folder, "spanflame")
    copy_client("go", "control.go", folder, "spanflame")
    return {"app": ["go", "run", "."], "build": ["go", "build", "-o", "server", "./serve"], "server": ["./server"]}, GO


def python(folder):
    copy_client("python", "spanflame_profiling.py", folder)
    program = toolchain.client("pyroscope_python")[0]
    return {"app": [program, "app.py"], "server": [program, "server.py"]}, {"PYTHONDONTWRITEBYTECODE": "1"}


def node(folder):
    packages, = toolchain.client("page_node")
    os.symlink(os.path.join(packages, "node_modules"), os.path.join(folder, "node_modules"))
    copy_client("node", "spanflame.js", folder)
    return {"app": ["node", "app.js"], "server": ["node", "server.js"]}, {}


def java(folder):
    jars, = toolchain.client("page_java")
    os.symlink(jars, os.path.join(folder, "lib"))
    copy_client("java", "Spanflame.java", folder)
    return {"app": ["sh", "run.sh", "App"], "server": ["sh", "run.sh", "Server"], "build": ["sh", "build.sh"]}, \
        {"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}


def rust(folder):
    """Built in the build folder: the crates take minutes, once."""
    toolchain.need("cargo")
    os.makedirs(os.path.join(folder, "src"))
    copy_client("rust", "spanflame.rs", folder, "src")
    copy_client("rust", "control.rs", folder, "src")
    env = {"CARGO_TARGET_DIR": os.path.join(toolchain.CACHE, "rust"), "CARGO_TERM_COLOR": "never"}
    return {"build": ["cargo", "build", "--release", "-j", "2"], "server": [os.path.join(env["CARGO_TARGET_DIR"], "release", "server")],
            "app": ["cargo", "run", "--release", "--offline", "--quiet", "--bin", "my-service"]}, env


def cpp(folder):
    toolchain.need("cc", "pkg-config")
    toolchain.run("installing the library", [os.path.join(SOURCE, "tools", "install"), os.path.join(folder, "usr")])
    lib = os.path.join(folder, "usr", "lib")
    return {"build": ["sh", "build.sh"], "app": ["./app"]}, {"PKG_CONFIG_PATH": os.path.join(lib, "pkgconfig"), "LD_LIBRARY_PATH": lib}


def ruby(folder):
    toolchain.need("ruby", "gem")
    gems = re.search(r"gem install ([\w -]+)", page("ruby.md"))[1].split()
    return {"check": ["ruby", "-c", "app.rb"], "build": ["gem", "install", "--no-document", *gems], "app": ["ruby", "app.rb"]}, \
        {"GEM_HOME": os.path.join(toolchain.CACHE, "ruby")}


def dotnet(folder):
    """The profiler's two files are not packages: SPANFLAME_PYROSCOPE_DOTNET=FOLDER has them."""
    toolchain.need("dotnet")
    files = os.environ.get("SPANFLAME_PYROSCOPE_DOTNET")
    if not files:
        raise tap.Skip("SPANFLAME_PYROSCOPE_DOTNET names no folder with the profiler's files")
    env = {"DOTNET_CLI_TELEMETRY_OPTOUT": "1", "CORECLR_ENABLE_PROFILING": "1", "PYROSCOPE_PROFILING_ENABLED": "1",
           "CORECLR_PROFILER": "{BD1A650D-AC5D-4896-B64F-D6FA25D6B26A}", "PYROSCOPE_APPLICATION_NAME": "my-service",
           "CORECLR_PROFILER_PATH": os.path.join(files, "Pyroscope.Profiler.Native.so"),
           "LD_PRELOAD": os.path.join(files, "Pyroscope.Linux.ApiWrapper.x64.so")}
    return {"build": ["dotnet", "build", "--output", "built"], "app": ["./built/my-service"]}, env


LANGUAGES = {"ruby": ruby, "dotnet": dotnet, "cpp": cpp, "rust": rust, "go": go, "python": python, "node": node, "java": java}


class Program:
    """A page's programs in a folder of their own."""

    def __init__(self, language, folder):
        self.folder = folder
        self.argv, self.env = LANGUAGES[language](folder)
        self.files = blocks(page(f"{language}.md"))
        for path, content in self.files.items():
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
                f.write(content)
        if "check" in self.argv:
            toolchain.run("reading the page's programs", self.argv["check"], cwd=folder)
        if "build" in self.argv:
            is_download = language in ("rust", "ruby", "dotnet")
            toolchain.run("building the page's programs", self.argv["build"], is_download, patience_s=900, cwd=folder,
                          env=dict(os.environ, **self.env))

    def run(self, server, name="app"):
        return run(self.argv[name], self.folder, server, **self.env)

    @contextlib.contextmanager
    def serving(self, server, **more):
        """The port of its server, and the process."""
        port = free_port()
        with open(os.path.join(self.folder, "server.log"), "w+", encoding="utf-8") as log:
            process = subprocess.Popen(self.argv["server"], cwd=self.folder, stdout=log, stderr=log,
                                       env=environment(server, PORT=str(port), **self.env, **more))
            try:
                yield port, process
            except BaseException:
                log.seek(0)
                print("# " + "\n# ".join(log.read().splitlines()[-40:]), flush=True)
                raise
            finally:
                process.terminate()
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


@contextlib.contextmanager
def program(language):
    with tempfile.TemporaryDirectory() as folder:
        yield Program(language, folder)
