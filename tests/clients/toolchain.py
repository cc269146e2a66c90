"""toolchain.py - brings the clients here, with each language's own tools.

Everything is kept in the build folder under the hash of what asked for it, so that only the first run
installs. What cannot be had (no such tool, no network, too slow) skips the test with one line; what
was had and does not build fails it."""
import hashlib
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "tools"))
import tap  # noqa: E402

HERE = os.path.join(os.environ["SOURCE_ROOT"], "tests", "clients")
CACHE = os.path.join(os.environ["BUILD_ROOT"], "clients")
PATIENCE_S = 600

NO_NETWORK = re.compile(r"resol|timed? ?out|ENOTFOUND|EAI_AGAIN|ECONN|connection|no such host|unreachable|dial tcp|"
                        r"proxy|certificate|40[37] |50[0-9] ", re.I)

done = {}  # language: what it takes to run its client, or why it cannot be run


def run(what, argv, is_download=False, patience_s=PATIENCE_S, **more):
    try:
        result = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                timeout=patience_s, stdin=subprocess.DEVNULL, check=False, **more)
    except subprocess.TimeoutExpired:
        raise tap.Skip(f"{what} took more than {patience_s} s")
    if result.returncode:
        if is_download and NO_NETWORK.search(result.stdout):
            raise tap.Skip(f"{what} failed: no network, it seems")
        raise AssertionError(f"{what} failed:\n{result.stdout}")
    return result.stdout


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise tap.Skip(f"no {program} here")


def kept(language, files, make):
    """The folder make(folder) filled, now or in an earlier run."""
    digest = hashlib.sha256(sys.version.encode())
    for name in files:
        with open(os.path.join(HERE, language, name), "rb") as f:
            digest.update(f.read())
    folder = os.path.join(CACHE, f"{language}-{digest.hexdigest()[:16]}")
    if not os.path.exists(os.path.join(folder, ".whole")):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        make(folder)
        with open(os.path.join(folder, ".whole"), "w", encoding="utf-8"):
            pass
    return folder


def make_go(language):
    need("go")
    source = os.path.join(HERE, language)
    env = dict(os.environ, GOTOOLCHAIN="local", GOFLAGS="-buildvcs=false -mod=readonly", CGO_ENABLED="0")
    with open(os.path.join(source, "go.mod"), encoding="utf-8") as f:
        wanted = re.search(r"^go (\d+)\.(\d+)", f.read(), re.M)
    have = re.search(r"go(\d+)\.(\d+)", subprocess.run(["go", "env", "GOVERSION"], capture_output=True, text=True,
                                                       env=env, cwd="/", check=False).stdout)
    if not have or [int(n) for n in have.groups()] < [int(n) for n in wanted.groups()]:
        raise tap.Skip(f"go is older than {wanted[0][3:]}")

    def make(folder):
        run("downloading Go modules", ["go", "mod", "download"], True, cwd=source, env=env)
        run("building with Go", ["go", "build", "-ldflags=-s -w", "-o", os.path.join(folder, "client"), "."],
            cwd=source, env=env)
    sources = sorted(name for name in os.listdir(source) if name.endswith(".go"))
    return [os.path.join(kept(language, ["go.mod", "go.sum", *sources], make), "client")]


def make_python(language, script):
    def make(folder):
        try:
            run("making a virtual environment", [sys.executable, "-m", "venv", folder])
        except AssertionError as e:
            if "ensurepip" in str(e) or "No module named" in str(e):
                raise tap.Skip("no python3-venv here")
            raise
        run("pip install", [os.path.join(folder, "bin", "python"), "-m", "pip", "install", "--quiet",
                            "--disable-pip-version-check", "--no-input", "--only-binary=:all:", "--retries=1",
                            "-r", os.path.join(HERE, language, "requirements.txt")], True)
    if sys.version_info < (3, 10):
        raise tap.Skip("python is older than 3.10")
    return [os.path.join(kept(language, ["requirements.txt"], make), "bin", "python"),
            os.path.join(HERE, language, script)]


def make_node(language, script, oldest=(18, 19), more=()):
    """Without a script: the folder that its packages are in."""
    need("node", "npm")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    if tuple(int(n) for n in re.findall(r"\d+", version)[:2]) < oldest:
        raise tap.Skip(f"node is older than {oldest[0]}.{oldest[1]}")
    source, files = os.path.join(HERE, language), ["package.json", "package-lock.json", *([script] if script else []), *more]

    def make(folder):
        for name in files:
            shutil.copy(os.path.join(source, name), folder)
        run("npm ci", ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"], True,
            cwd=folder)
    folder = kept(language, files, make)
    return ["node", os.path.join(folder, script)] if script else [folder]


def make_java(language, program=None):
    """The folder with the jars of its pom.xml and the compiled program, if there is one."""
    need("java", "javac", "mvn")
    source = os.path.join(HERE, language)

    def make(folder):
        run("mvn", ["mvn", "-q", "-B", "-f", os.path.join(source, "pom.xml"), "dependency:copy-dependencies",
                    f"-DoutputDirectory={folder}"], True)
        if program:
            run("javac", ["javac", "-cp", os.path.join(folder, "*"), "-d", folder, os.path.join(source, program)])
    return [kept(language, ["pom.xml", *([program] if program else [])], make)]


MAKERS = {"go": lambda: make_go("go"), "python": lambda: make_python("python", "send.py"),
          "node": lambda: make_node("node", "send.js"),
          "collector": lambda: make_go("collector"), "tempo": lambda: make_go("tempo"),
          "grafana": lambda: make_go("grafana"), "tempo_api": lambda: make_go("tempo_api"),
          "traceql_editor": lambda: make_node("traceql_editor", "parse.js"),
          "pyroscope_go": lambda: make_go("pyroscope_go"),
          "pyroscope_python": lambda: make_python("pyroscope_python", "serve.py"),
          "pyroscope_node": lambda: make_node("pyroscope_node", "serve.js", (20, 19)),
          "page_java": lambda: make_java("page_java"),
          "page_node": lambda: make_node("page_node", None, (20, 6)),
          "pyroscope_java": lambda: make_java("pyroscope_java", "Shop.java"),
          "profiler_python": lambda: make_python("profiler_python", "shop.py"),
          "profiler_java": lambda: make_java("profiler_java", "Profiled.java"),
          "pyroscope_connect": lambda: make_go("pyroscope_connect"),
          "grafana_flame": lambda: make_node("grafana_flame", "read.js", (20, 0), more=[".npmrc"]),
          "grafana_schema": lambda: make_node("grafana_schema", "check.js"),
          "h2spec": lambda: make_go("h2spec"),
          "mcp_python": lambda: make_python("mcp_python", "ask.py"),
          "mcp_node": lambda: make_node("mcp_node", "ask.mjs"),
          "speedscope": lambda: make_node("speedscope", "check.js", more=["import.js"])}


def client(language):
    """The command line that runs a client; raises tap.Skip."""
    if language not in done:
        try:
            done[language] = MAKERS[language]()
        except (tap.Skip, AssertionError) as e:
            done[language] = e
    if isinstance(done[language], Exception):
        raise done[language]
    return done[language]


def again_with_python(path):
    """Goes on in a Python that has the gRPC client: the calling script begins anew there."""
    if "SF_CLIENTS_INSIDE" in os.environ:
        return
    try:
        python = client("python")[0]
    except tap.Skip as why:
        print(f"1..0 # SKIP {why}")
        sys.exit(0)
    os.environ["SF_CLIENTS_INSIDE"] = "1"
    os.environ["GRPC_VERBOSITY"] = "NONE"
    os.execv(python, [python, os.path.abspath(path)])
