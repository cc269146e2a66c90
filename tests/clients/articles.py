"""articles.py - the programs and files of the articles that people come from (SPANFLAME_ARTICLES=FOLDER, one text each),
as they stand there; what a test changes in one, and why, is said beside the change."""
import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse

import pages
import toolchain
from pages import wait_for
from server import Server, free_port, tap

HERE = os.path.join(toolchain.HERE, "articles")
FOLDER = os.environ.get("SPANFLAME_ARTICLES")
PLACES = r"https?://(pyroscope(\.internal)?|tempo|otlp\.oneuptime\.com)(:\d+)?\b"  # where the articles send


def block(article, number, *changes):
    """A code block of an article; changes are (before, after) of what no current package takes."""
    paths = sorted(glob.glob(os.path.join(FOLDER, "*.txt"))) if FOLDER else []
    if len(paths) <= article:
        raise tap.Skip("SPANFLAME_ARTICLES names no folder with the articles")
    with open(paths[article], encoding="utf-8") as f:
        text = re.findall(r"^```\w*\n(.*?)^```$", f.read(), re.S | re.M)[number]
    for before, after in changes:
        assert before in text, (article, number, before)
        text = text.replace(before, after)
    return text


def sent_to(text, server):
    return re.sub(PLACES, f"http://127.0.0.1:{server.port}", text)


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
        f.write(text)


@contextlib.contextmanager
def folder_with(*names):
    """A folder of its own with files of articles/."""
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            shutil.copy(os.path.join(HERE, name), folder)
        yield folder


@contextlib.contextmanager
def process(argv, folder, server, service, **more):
    """Runs until the test has seen what it waits for."""
    with open(os.path.join(folder, "log"), "w+", encoding="utf-8") as log:
        running = subprocess.Popen(argv, cwd=folder, stdout=log, stderr=log,
                                   env=pages.environment(server, **{"OTEL_SERVICE_NAME": service, **more}))
        try:
            yield running
        except BaseException:
            log.seek(0)
            print("# " + "\n# ".join(log.read().splitlines()[-40:]), flush=True)
            raise
        finally:
            if running.poll() is None:
                running.send_signal(signal.SIGTERM)
            try:
                running.wait(20)
            except subprocess.TimeoutExpired:
                running.kill()
                running.wait()


def build_go(folder, **texts):
    """The program of an article beside what it leaves out."""
    toolchain.client("pyroscope_go")  # its modules are here then
    for name in ("go.mod", "go.sum"):
        shutil.copy(os.path.join(toolchain.HERE, "pyroscope_go", name), folder)
    for name, text in texts.items():
        write(folder, name + ".go", text)
    toolchain.run("go build", ["go", "build", "-o", "program", "."], cwd=folder, env=dict(os.environ, **pages.GO))
    return ["./program"]


def build_java(folder, name, text):
    """(class path, options of the agent)"""
    jars, = toolchain.client("pyroscope_java")
    profiler, = toolchain.client("profiler_java")
    agent, = glob.glob(os.path.join(jars, "opentelemetry-javaagent-*.jar"))
    libraries = [p for p in glob.glob(os.path.join(jars, "opentelemetry-*.jar")) if p != agent]
    path = os.pathsep.join([folder, *libraries, *glob.glob(os.path.join(profiler, "async-profiler-*.jar"))])
    write(folder, name + ".java", text)
    toolchain.run("javac", ["javac", "-cp", path, "-d", folder, *glob.glob(os.path.join(folder, "*.java"))])
    return ["java", f"-javaagent:{agent}", "-cp", path]


def run_node(folder, server, service, text, **more):
    packages, = toolchain.client("page_node")
    os.symlink(os.path.join(packages, "node_modules"), os.path.join(folder, "node_modules"))
    write(folder, "app.js", text)
    return pages.run(["node", "-r", "./rest.js", "app.js"], folder, server, **{"OTEL_SERVICE_NAME": service, **more})


def run_python(folder, server, service, text):
    write(folder, "app.py", text)
    return pages.run([toolchain.client("pyroscope_python")[0], "app.py"], folder, server, OTEL_SERVICE_NAME=service)


# ---- what came of it ----

def span_of(server, service, name):
    """(trace, span) of the one span of that name."""
    query = urllib.parse.quote(f'{{ resource.service.name = "{service}" && name = "{name}" }}')
    found = wait_for(lambda: server.json(f"/api/search?q={query}").get("traces"))
    assert found and len(found) == 1, (service, name, found, server.log())
    return found[0]["traceID"], found[0]["spanSets"][0]["spans"][0]["spanID"]


def profile_of(server, ids, is_there, seconds=120, more=""):
    """The span's answer, when it is as wanted."""
    path = f"/api/v1/spans/{ids[0]}/{ids[1]}/profile?{more}"
    found = wait_for(lambda: [a for a in [server.json(path)] if is_there(a)], seconds)
    assert found, server.json(path)
    return found[0]


def known(answer):
    """Of the span, or of the span with its children: by ids, and no estimate."""
    return answer["samples"] > 0 and not answer["isEstimate"] and answer["grades"]["window"]["samples"] == 0


def estimated(answer):
    return answer["samples"] > 0 and answer["isEstimate"]


def sums(folded):
    """{word in its stacks: value}"""
    out = {}
    for line in folded.splitlines():
        stack, value = line.rsplit(" ", 1)
        for word in set(re.findall(r"\w+", stack)):
            out[word] = out.get(word, 0) + int(value)
    return out


def functions(server, ids, more=""):
    """sums() of a span."""
    return sums(server.get(f"/api/v1/spans/{ids[0]}/{ids[1]}/profile?format=folded{more}").text)


def share(server, ids, function, more=""):
    found = functions(server, ids, more)
    return found.get(function, 0) / max(1, max(found.values(), default=0))


# ---- a Collector ----

@contextlib.contextmanager
def collector(text, server, ports):
    """Runs a file of an article; ports: {as written: one that is free}."""
    for before, after in ports.items():
        assert before in text, before
        text = text.replace(before, f"127.0.0.1:{after}")
    with tempfile.TemporaryDirectory() as folder:
        write(folder, "collector.yaml", sent_to(text, server) + "\n  telemetry:\n    metrics:\n      level: none\n")
        argv = [*toolchain.client("collector"), "--feature-gates=service.profilesSupport", "--config",
                os.path.join(folder, "collector.yaml")]
        with process(argv, folder, server, "collector", ONEUPTIME_TOKEN="none") as running:
            def text_of():
                with open(os.path.join(folder, "log"), encoding="utf-8", errors="replace") as f:
                    return f.read()
            end = time.monotonic() + 60
            while "Everything is ready" not in text_of():
                assert running.poll() is None and time.monotonic() < end, text_of()
                time.sleep(0.05)
            yield text_of


def port_of(port):
    """A Server's ways to speak, to somebody else's port."""
    other = object.__new__(Server)
    other.port, other.token = port, None
    return other


__all__ = ["block", "build_go", "build_java", "collector", "estimated", "folder_with", "free_port", "functions", "known", "port_of", "process",
           "profile_of", "run_node", "run_python", "sent_to", "share", "span_of", "sums", "write"]
