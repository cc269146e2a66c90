#!/usr/bin/env python3
"""What do the files of clients/ cost a program: a span that is made current and ended, and CPU time while 100 samples a
second are taken and sent?

Each program (bench/clients) runs plain and with the client in turn, PAIRS times; a figure is the median of all, a ratio
the median of the pairs' ratios. LANGUAGES=go,python picks some. Needs what the tests of the language pages need."""
import os
import shutil
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("SOURCE_ROOT", ROOT)
os.environ.setdefault("BUILD_ROOT", os.path.join(ROOT, "build"))
os.environ.setdefault("SPANFLAME", os.path.join(ROOT, "build", "spanflame"))
sys.path[:0] = [os.path.join(ROOT, "tests", "clients"), os.path.join(ROOT, "tests", "flow")]
import pages  # noqa: E402
import toolchain  # noqa: E402
from server import Server, tap  # noqa: E402

PAIRS = int(os.environ.get("PAIRS", "5"))
HERE = os.path.join(ROOT, "bench", "clients")


def copy(folder, name, to):
    os.makedirs(os.path.dirname(os.path.join(folder, to)), exist_ok=True)
    shutil.copy(os.path.join(HERE, name), os.path.join(folder, to))


def go(program):
    copy(program.folder, "bench.go", "bench/main.go")
    toolchain.run("go build", ["go", "build", "-o", "benched", "./bench"], cwd=program.folder, env=dict(os.environ, **program.env))
    return {"plain": ["./benched", "plain"], "client": ["./benched", "client"]}


def python(program):
    copy(program.folder, "bench.py", "bench.py")
    return {how: [program.argv["app"][0], "bench.py", how] for how in ("plain", "client")}


def node(program):
    copy(program.folder, "bench.js", "bench.js")
    return {how: ["node", "bench.js", how] for how in ("plain", "client")}


def java(program):
    copy(program.folder, "Bench.java", "Bench.java")
    toolchain.run("javac", ["javac", "-cp", os.path.join("lib", "*"), "-d", ".", "Bench.java"], cwd=program.folder)
    agent, = [n for n in os.listdir(os.path.join(program.folder, "lib")) if n.startswith("opentelemetry-javaagent")]
    plain = ["java", f"-javaagent:lib/{agent}", "-cp", ".:" + ":".join(
        "lib/" + n for n in os.listdir(os.path.join(program.folder, "lib")) if "agent" not in n), "Bench"]
    return {"plain": plain, "client": ["sh", "run.sh", "Bench"]}


def rust(program):
    copy(program.folder, "bench.rs", "src/bin/bench.rs")
    toolchain.run("cargo build", ["cargo", "build", "--release", "-j", "2", "--offline", "--bin", "bench"], patience_s=900,
                  cwd=program.folder, env=dict(os.environ, **program.env))
    bench = os.path.join(program.env["CARGO_TARGET_DIR"], "release", "bench")
    return {"plain": [bench, "plain"], "client": [bench, "client"]}


def measure(program, argv, server):
    done = subprocess.run(argv, cwd=program.folder, capture_output=True, text=True, check=False, env=pages.environment(
        server, OTEL_TRACES_EXPORTER="none", **program.env))
    if done.returncode:
        sys.exit(f"{' '.join(argv)}: {done.stdout}{done.stderr}")
    return [float(n) for n in done.stdout.splitlines()[-1].split()]


def main():
    wanted = os.environ.get("LANGUAGES", "go,python,node,java,rust").split(",")
    for language, prepare in (("go", go), ("python", python), ("node", node), ("java", java), ("rust", rust)):
        if language not in wanted:
            continue
        try:
            with pages.program(language) as program, Server() as server:
                argv = prepare(program)
                pairs = [[measure(program, argv[how], server) for how in ("plain", "client")] for _ in range(PAIRS)]
        except tap.Skip as why:
            print(f"# {language}: {why}")
            continue
        for i, (what, unit) in enumerate((("span", "ns"), ("work", "ms"), ("await", "ns"))[:len(pairs[0][0])]):
            for at, how in enumerate(("plain", "client")):
                print(f"{language}_{what}_{how} {statistics.median(p[at][i] for p in pairs):.0f} {unit}", flush=True)
            print(f"{language}_{what}_ratio {statistics.median(p[1][i] / p[0][i] for p in pairs):.3f} times", flush=True)


main()
