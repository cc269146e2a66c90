#!/usr/bin/env python3
"""spanflame flame, top, diff and export on files and URLs, without any server of ours."""
import glob
import http.server
import json
import os
import pty
import re
import subprocess
import sys
import tempfile
import threading
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(__file__))
from server import PROGRAM, tap  # noqa: E402

ROOT = os.environ["SOURCE_ROOT"]
FOLDED = f"{ROOT}/tests/golden/flame_text.folded"
CORPUS = ["folded", "pprof", "otlp_profile", "jfr", "pyroscope_tree", "v8_cpuprofile", "v8_heapprofile"]


def run(*args, stdin=None, columns=88, **env):
    return subprocess.run([PROGRAM, *args], input=stdin, capture_output=True, check=False,
                          env=dict(os.environ, COLUMNS=str(columns), **env))


def total(data):
    done = run("top", "-", "--output", "json", stdin=data)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["total"]


def test_the_drawing_is_what_people_draw_by_hand():
    with open(f"{ROOT}/tests/golden/flame_text.txt", "rb") as f:
        want = f.read()
    done = run("flame", FOLDED)
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert done.stdout.startswith(want + b"\n"), done.stdout.decode()
    assert b"percentages are of 1 k samples" in done.stdout and b"36 frames below 1 %" in done.stdout
    assert done.stdout.count(b"<-- HOT PATH") == 3
    with open(FOLDED, "rb") as f:
        assert run("flame", "-", stdin=f.read()).stdout.startswith(want)


def test_functions_and_their_callees_are_listed():
    rows = run("top", FOLDED, "--limit", "3").stdout.decode()
    assert rows.index("serialize(orderResult)") < rows.index("regex.match(pricePattern)"), rows
    tree = run("top", FOLDED, "--tree").stdout.decode()
    assert "  ↳ applyDiscounts()" in tree and "    ↳ loadDiscountRules()" in tree, tree
    answer = json.loads(run("top", FOLDED, "--by", "total", "--limit", "1", "--output", "json").stdout)
    assert answer["total"] == 1000 and answer["functions"] == [
        {"function": "calculateTotals()", "self": 0, "total": 1000}], answer
    only = json.loads(run("top", FOLDED, "--focus", "json[.]parse", "--output", "json").stdout)
    assert only["total"] == 120, only


def test_two_files_are_compared():
    with tempfile.NamedTemporaryFile(suffix=".folded") as after:
        with open(FOLDED, "rb") as f:
            after.write(f.read().replace(b"json.parse(rulesConfig) 120", b"json.parse(rulesConfig) 240"))
        after.flush()
        table = run("diff", FOLDED, after.name).stdout.decode()
        first = [line for line in table.splitlines() if "json.parse" in line or "serialize" in line][0]
        assert "120" in first and "240" in first and "+100" in first and "json.parse" in first, table
        assert "json.parse" in run("diff", FOLDED, after.name, "--tree", "--measure", "share").stdout.decode()
        both = json.loads(run("diff", FOLDED, after.name, "--output", "json").stdout)
        assert both, both


def check_exports(data, name):
    want = total(data)
    n = 0
    for form in ("pprof", "otlp", "folded", "json", "speedscope", "svg"):
        done = run("export", "-", "--format", form, stdin=data)
        if form == "svg" and b"negative" in done.stderr:
            continue
        assert done.returncode == 0, (name, form, done.stderr)
        n += 1
        if form == "json":
            assert sum(node[2] for node in json.loads(done.stdout)["nodes"]) == want, name
        elif form == "speedscope":
            assert sum(sum(p["weights"]) for p in json.loads(done.stdout)["profiles"]) == want, name
        elif form == "svg":
            drawn = xml.etree.ElementTree.fromstring(done.stdout)
            root = next(drawn.iter("{http://www.w3.org/2000/svg}title")).text
            amount = re.fullmatch(r"total\n(.+), 100\.00 % of \1(; self .+)?", root) if want else None
            base = run("top", "-", stdin=data).stdout.decode()
            assert not want or base.startswith(f"percentages are of {amount[1]} "), (name, root, base[:80])
        elif want:
            assert total(done.stdout) == want, (name, form)
    return n


def test_totals_are_the_same_in_every_export_and_back():
    n = 0
    for folder in CORPUS:
        for path in sorted(glob.glob(f"{ROOT}/tests/corpus/{folder}/*")):
            with open(path, "rb") as f:
                data = f.read()
            if run("top", "-", stdin=data).returncode == 0:
                n += check_exports(data, path)
    assert n > 100, n


class Endpoint(http.server.BaseHTTPRequestHandler):
    seen = []

    def do_GET(self):
        Endpoint.seen.append((self.path, dict(self.headers)))
        threading.Event().wait(1.5 if "seconds" in self.path else 0)
        with open(FOLDED, "rb") as f:
            body = f.read()
        self.send_response(404 if "nothing" in self.path else 200)
        self.end_headers()
        self.wfile.write(body if "nothing" not in self.path else b"no such profile")

    def log_message(self, *args):
        pass


def test_a_url_is_fetched_with_a_countdown_and_without_our_token():
    endpoint = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=endpoint.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{endpoint.server_port}"
    done = run("flame", f"{base}/debug/pprof/profile", SPANFLAME_TOKEN="secret")
    assert done.returncode == 0 and b"calculateTotals()" in done.stdout and not done.stderr, done
    assert Endpoint.seen[0][0] == "/debug/pprof/profile"
    assert "Authorization" not in Endpoint.seen[0][1], Endpoint.seen
    looking, terminal = pty.openpty()
    done = subprocess.run([PROGRAM, "top", f"{base}/debug/pprof/profile?seconds=1"], stdout=subprocess.PIPE,
                          stderr=terminal, check=False)
    os.close(terminal)
    said = os.read(looking, 4096).decode()
    os.close(looking)
    assert done.returncode == 0 and b"serialize" in done.stdout, said
    assert "profiling, 1 s left" in said, said
    done = run("flame", f"{base}/nothing")
    assert done.returncode == 1 and b"404" in done.stderr and b"no such profile" in done.stderr, done.stderr
    endpoint.shutdown()
    endpoint.server_close()
    done = run("flame", base)
    assert done.returncode == 1 and b"no response" in done.stderr, done.stderr


def test_a_format_that_looks_like_another_is_named():
    done = run("top", "-", "--input", "lines", "--output", "json", stdin=b"a;b\na;b\na;c\n")
    answer = json.loads(done.stdout)
    assert answer["total"] == 3 and answer["functions"][0] == {"function": "b", "self": 2, "total": 2}, answer


def test_mistakes_are_told():
    for args, words in [(["flame"], b"name one profile"), (["flame", FOLDED, "--min", "x"], b"percentage"),
                        (["flame", FOLDED, "--order", "x"], b"total, name or seen"),
                        (["flame", FOLDED, "--group-by", "x"], b"function, line, file"),
                        (["flame", FOLDED, "--type", "nonsense"], b"nonsense"),
                        (["flame", f"{ROOT}/README.md"], b"unknown profile format"), (["flame", "/nowhere"], b"/nowhere"),
                        (["top", FOLDED, "--by", "x"], b"self or total"), (["top", FOLDED, "--focus", "("], b"missing )"),
                        (["diff", FOLDED], b"two profiles"), (["export", FOLDED], b"--format is pprof"),
                        (["export", FOLDED, "--format", "jfr"], b"--format is pprof")]:
        done = run(*args)
        assert done.returncode in (1, 2) and words in done.stderr and not done.stdout, (args, done)


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
