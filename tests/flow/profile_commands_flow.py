#!/usr/bin/env python3
"""upload, labels, series, and the selectors of flame, top, diff and export, against a server."""
import gzip
import http.server
import json
import os
import pty
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import PROGRAM, Server, fields, tap  # noqa: E402

ROOT = os.environ["SOURCE_ROOT"]
server = Server().start()
NOW_S = int(time.time())
SPAN, TRACE = "eee19b7ec3c1b174", "5b8efff798038103d269b633813fc60c"
STACKS = {"main;order;json.parse": 60000000, "main;order;tax": 25000000, "main;idle": 15000000}
SLOWER = dict(STACKS, **{"main;order;json.parse": 180000000})


def run(*args, stdin=None, columns=88):
    return subprocess.run([PROGRAM, *args], input=stdin, capture_output=True, check=False,
                          env=dict(os.environ, COLUMNS=str(columns), SPANFLAME_SERVER=f"http://127.0.0.1:{server.port}"))


def text(*args, **more):
    done = run(*args, **more)
    assert done.returncode == 0 and not done.stderr, (args, done.stderr.decode())
    return done.stdout.decode()


def fault(*args, code=1):
    done = run(*args)
    assert done.returncode == code and not done.stdout, (args, done.returncode, done.stdout)
    return done.stderr.decode()


def is_golden(name, got):
    with open(f"{ROOT}/tests/golden/{name}", encoding="utf-8") as f:
        want = f.read()
    assert got == want, f"{name}:\n{got}"


def send(stacks, age_s, *flags):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cpu.pb.gz")
        with open(path, "wb") as f:
            f.write(pprof(stacks, when=(NOW_S - age_s) * 10**9))
        told = text("upload", path, *flags)
        assert told == f"{path}: 1 profile, 1 series, {len(stacks)} samples\n", told


send(STACKS, 300, "--service", "order-service", "--label", "commit=abc123", "--label", "env=prod")
send(SLOWER, 60, "--service", "order-service", "--label", "commit=def456", "--label", "env=prod")


def test_a_selector_is_drawn_like_a_file():
    is_golden("selector_flame.txt", text("flame", "order-service{commit=abc123}"))
    for same in ('order-service{commit="abc123"}', "order-service{ commit = abc123 }", "order-service{commit=~abc.*}",
                 "{service_name=order-service,commit=abc123}", "order-service{env=prod,commit!=def456}"):
        assert text("flame", same).splitlines()[:5] == text("flame", "order-service{commit=abc123}").splitlines()[:5], same
    assert "percentages are of 320 ms cpu" in text("flame", "order-service")
    whole = json.loads(text("flame", "order-service{env=prod}", "--output", "json"))
    assert whole["total"] == 320000000


def test_functions_of_a_selector_are_listed():
    is_golden("selector_top.txt", text("top", "order-service{commit=def456}"))
    is_golden("selector_top_tree.txt", text("top", "order-service{commit=def456}", "--tree"))
    assert text("export", "order-service{commit=abc123}", "--format", "folded", "--focus", "tax") == "main;order;tax 25000000\n"


def test_two_selectors_are_compared():
    told = text("diff", "--baseline", "order-service{commit=abc123}", "--comparison", "order-service{commit=def456}",
                "--time-range", "1h")
    is_golden("selector_diff.txt", told)
    assert told == text("diff", "order-service{commit=abc123}", "order-service{commit=def456}")
    both = json.loads(text("diff", "order-service", "order-service", "--baseline-range", "now-1h..now-2m",
                           "--comparison-range", "2m", "--output", "json"))
    assert (both["baseline"]["total"], both["comparison"]["total"]) == (100000000, 220000000), both
    absolute = f"{NOW_S - 400}..{NOW_S - 200}"
    assert "100 ms" in text("diff", "order-service", "order-service", "--time-range", absolute).splitlines()[0]


def test_a_selector_and_a_file_are_compared():
    with tempfile.NamedTemporaryFile(suffix=".pb.gz") as f:
        f.write(pprof(SLOWER))
        f.flush()
        assert "+120 ms" in text("diff", "order-service{commit=abc123}", f.name)


def test_labels_and_their_values():
    assert text("labels") == "commit\nenv\nservice_name\n"
    assert "__profile_type__" in text("labels", "--all")
    assert text("labels", "commit") == "abc123\ndef456\n"
    assert text("labels", "commit", "--of", "order-service{commit!=abc123}") == "def456\n"
    assert text("labels", "commit", "--of", "nobody").startswith("(none in this time")
    assert json.loads(text("labels", "commit", "--output", "json")) == {"names": ["abc123", "def456"]}


def test_series_are_lines_on_one_scale():
    start = NOW_S - 600
    lines = text("series", "order-service", "--by", "commit", "--time-range", f"{start}..{NOW_S}").splitlines()
    assert lines[0] == "cpu in cores, steps of 15 s" and lines[1].split() == ["least", "most", "last"], lines
    assert lines[2].startswith("def456") and "█" in lines[2] and lines[2].endswith("0.01467"), lines
    assert lines[3].startswith("abc123") and "▄" in lines[3] and lines[3].endswith("0.006667"), lines
    assert lines[4].endswith(" UTC") and len(lines) == 5
    told = json.loads(text("series", "order-service", "--output", "json", "--step", "10m"))
    assert sum(p["value"] for s in told["series"] for p in s["points"]) == 320000000, told
    assert text("series", "nobody").splitlines()[1].startswith("(no profiles in this time")


def test_an_upload_may_be_one_requests():
    done = run("upload", "-", "--service", "single", "--type", "cpu", "--trace-id", TRACE, "--span-id", SPAN,
               stdin=b"handle;regex 7\nhandle 3\n")
    assert done.stdout == b"-: 1 profile, 1 series, 2 samples\n", done
    done = run("upload", "-", "--service", "counted", "--output", "json", stdin=b"a 1\n")
    assert json.loads(done.stdout) == {"file": "-", "profiles": 1, "series": 1, "samples": 1, "droppedSamples": 0}, done
    told = server.get(f"/api/v1/profile?app=single&span_id={SPAN}&format=folded")
    assert told.status == 200 and "handle;regex" in told.text, told.text
    for ids in (("--span", SPAN), ("--trace", TRACE), ("--trace", TRACE, "--span", SPAN[:7])):
        done = run("flame", *ids)
        assert done.returncode == 0 and b"regex" in done.stdout and b"HOT PATH" in done.stdout, (ids, done)
        assert b"itself is not here" in done.stderr and b"percentages are of 10 samples" in done.stdout, (ids, done)
    assert "not found" in fault("flame", "--span", "1234")


def values(content):
    """{(trace id, span id): sum} of a pprof."""
    strings = [value.decode() for number, value in fields(content) if number == 6]
    out = {}
    for number, value in fields(content):
        if number != 2:
            continue
        labels, total = {}, 0
        for kind, part in fields(value):
            if kind == 3:
                label = dict(fields(part))
                labels[strings[label[1]]] = strings[label[2]]
            elif kind == 2:
                total = fields(b"\x08" + part)[0][1]
        ids = labels.get("trace_id"), labels.get("span_id")
        out[ids] = out.get(ids, 0) + total
    return out


def test_an_export_keeps_the_ids_of_samples():
    ids = (("trace_id", TRACE), ("span_id", SPAN))
    other = (("trace_id", "0" * 31 + "7"), ("span_id", "0" * 15 + "9"))
    sent = pprof({("main;work", ids): 30 * 10**6, ("main;work", other): 20 * 10**6, "main;work": 10**7, "main;idle": 40 * 10**6})
    as_otlp = run("export", "-", "--format", "otlp", stdin=sent).stdout
    assert bytes.fromhex(TRACE) in as_otlp and bytes.fromhex(SPAN) in as_otlp
    as_pprof = run("export", "-", "--format", "pprof", stdin=as_otlp)  # links become labels
    plain = gzip.decompress(as_pprof.stdout)
    for form, content in (("pprof", gzip.decompress(run("export", "-", "--format", "pprof", stdin=sent).stdout)), ("otlp", plain)):
        samples = [dict(fields(value)) for number, value in fields(content) if number == 2]
        assert len(samples) == 4, (form, samples)
        assert TRACE.encode() in content and SPAN.encode() in content and other[1][1].encode() in content, form
    folded = "main;idle 40000000\nmain;work 60000000\n"
    for body in (sent, as_otlp, as_pprof.stdout):
        assert "".join(sorted(run("export", "-", "--format", "folded", stdin=body).stdout.decode().splitlines(True))) == folded
    for more in (("--focus", "work"), ("--hide", "main"), ("--group-by", "package"), ("--from", "work", "--group-by", "function")):
        cut = gzip.decompress(run("export", "-", "--format", "pprof", *more, stdin=sent).stdout)
        assert values(cut) == {(TRACE, SPAN): 30 * 10**6, (other[0][1], other[1][1]): 20 * 10**6,
                               (None, None): (5 if "hide" in more[0] or "package" in more else 1) * 10**7}, (more, values(cut))
    assert server.post("/ingest?name=ids-again&format=pprof", as_pprof.stdout).status == 200
    assert server.post("/ingest?name=ids-again&format=pprof", pprof({"main;work": 5 * 10**6})).status == 200
    for form in ("pprof", "otlp"):
        again = run("export", "ids-again", "--format", form).stdout
        if form == "otlp":
            assert bytes.fromhex(TRACE) in again and bytes.fromhex(SPAN) in again
            again = run("export", "-", "--format", "pprof", stdin=again).stdout
        assert values(gzip.decompress(again)) == {(TRACE, SPAN): 30 * 10**6, (other[0][1], other[1][1]): 20 * 10**6,
                                                  (None, None): 55 * 10**6}, form
    one = server.get(f"/api/v1/profile?trace_id={TRACE}&format=pprof&ids=true")
    assert values(gzip.decompress(one.body)) == {(TRACE, SPAN): 30 * 10**6}, one.status
    for bad in ("format=json&ids=true", "format=pprof&ids=maybe", f"format=otlp&ids=true&span_id={SPAN}"):
        assert server.get(f"/api/v1/profile?app=ids-again&{bad}").status == 400, bad


def test_a_selector_says_how_many_samples_it_has():
    for _ in range(2):  # text repeats legitimately
        run("upload", "-", "--service", "twice", "--type", "cpu:cpu:nanoseconds", stdin=b"a;b 7\na;c 3\n")
    assert "(4 samples) in twice" in text("top", "twice"), text("top", "twice")


def serve_once(body):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            time.sleep(1.2)
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass
    web = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    return web


def test_a_url_is_fetched_with_a_countdown_and_sent_with_progress():
    web = serve_once(pprof(STACKS))
    url = f"http://127.0.0.1:{web.server_port}/debug/pprof/profile?seconds=1"
    leader, follower = pty.openpty()
    done = subprocess.run([PROGRAM, "upload", url, "--service", "fetched", "--server", f"http://127.0.0.1:{server.port}"],
                          stdout=subprocess.PIPE, stderr=follower, check=False, env=dict(os.environ, TERM="xterm"))
    os.close(follower)
    shown = os.read(leader, 65536).decode()
    web.shutdown()
    assert done.returncode == 0 and b"3 samples" in done.stdout, (done, shown)
    assert "profiling, 1 s left" in shown and "100 %" in shown, shown
    assert "100 ms cpu" in text("flame", "fetched")


def test_a_long_recording_goes_in_pieces():
    with open(f"{ROOT}/tests/corpus/jfr/minimal.jfr", "rb") as f:
        one = f.read()
    want = run("upload", f"{ROOT}/tests/corpus/jfr/minimal.jfr", "--service", "one").stdout.split()
    # A chunk's own size field covers what stands behind its events: a large one is padded there.
    size = int.from_bytes(one[8:16], "big")
    assert size == len(one)
    pad = 17 << 20
    large = one[:8] + (size + pad).to_bytes(8, "big") + one[16:] + padding(pad)
    with tempfile.NamedTemporaryFile(suffix=".jfr") as f:
        f.write(large * 4)  # 68 MiB: more than a request may have
        f.flush()
        done = run("upload", f.name, "--service", "pieces")
        assert done.returncode == 0, done.stderr
        assert int(done.stdout.split()[-2]) == 4 * int(want[-2]), (done.stdout, want)


def padding(n):
    """Events of a type nobody knows, each a mebibyte long."""
    size, out = 1 << 20, b""
    event = bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14 & 127 | 128, size >> 21, 0xFF, 0x7F])
    while len(out) < n:
        out += event + bytes(size - len(event))
    return out


def test_what_is_wrong_is_said():
    assert "no profiles of order-service in this time range" in fault("flame", "order-service{env=test}")
    assert "selector: =, !=, =~ or !~ is expected at position" in fault("flame", "order-service{env}")
    assert "nosuch.pb.gz: No such file" in fault("flame", "nosuch.pb.gz")
    assert "--time-range soon" in fault("top", "order-service", "--time-range", "soon")
    assert "--time-range now..now-1h" in fault("series", "--time-range", "now..now-1h")
    assert "--label is KEY=VALUE" in fault("upload", "x", "--label", "novalue", code=2)
    assert "name two profiles" in fault("diff", "a", "b", "--baseline", "c", code=2)
    assert "name two profiles" in fault("diff", "--baseline", "c", code=2)
    assert "nofile: open nofile: No such file" in fault("upload", "nofile")
    with tempfile.NamedTemporaryFile() as f:
        f.write(b"\x00\x01\x02 not a profile")
        f.flush()
        said = fault("upload", f.name)
        assert "is not sent" in said and said.rstrip().endswith("Pyroscope, folded"), said


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
