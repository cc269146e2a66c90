#!/usr/bin/env python3
"""Keys of the server that no other test changes: each is changed on one of two servers that are otherwise alike, and the
difference is seen from outside. tests/flow/keys_flow.py has the list of all keys."""
import glob
import gzip
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import symbols_flow  # noqa: E402
from pprof_make import pprof  # noqa: E402
from server import PROGRAM, Server, export_request, first, json_request, make_span, tap  # noqa: E402

PLAIN = Server().start()
CHANGED = Server("""memory: 192MiB
limits: {body: 1MiB, inflated: 64KiB, idle_timeout: 200ms, attributes: 3, value: 16, stack_depth: 160, series: 5}
log: {format: human}
metrics: {span_metrics: {max_series: 10}, service_graph: {max_series: 10, max_items: 20, wait: 10m}}
findings: {stack_depth: 2000, callers: 50, gc: 60%, lock: 60%, theme: 60%, repeated: 25%}
symbols: {wait: 0}
""").start()


def both(ask):
    """(of the plain server, of the changed one)"""
    return ask(PLAIN), ask(CHANGED)


def wait_for(condition, what, seconds=120):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(what)


def test_memory():
    plain, changed = both(lambda server: [server.metric(f"spanflame_{of}memory_budget_bytes") for of in ("", "store_")])
    assert [plain[0], changed[0]] == [256 << 20, 192 << 20] and changed[1] < plain[1], (plain, changed)


def test_limits_inflated():
    body = gzip.compress(export_request([make_span(attributes={"a": "x" * 2000}) for _ in range(40)]))
    assert len(body) < 64 << 10
    assert both(lambda s: s.post("/v1/traces", body, headers={"Content-Encoding": "gzip"}).status) == (200, 413)


def test_limits_body():
    def answer_to(s):  # refused by its length alone
        with socket.create_connection(("127.0.0.1", s.port), timeout=60) as sock:
            sock.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
                         b"Content-Length: 2097152\r\nExpect: 100-continue\r\n\r\n")
            return sock.recv(4096)[9:12]
    assert both(answer_to) == (b"100", b"413")


def test_limits_body_timeout():
    with Server("limits: {body_timeout: 200ms}\n") as s:
        with socket.create_connection(("127.0.0.1", s.port), timeout=40) as sock:  # a minute by default
            sock.sendall(b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\nContent-Length: 9\r\n\r\nx")
            while sock.recv(4096):
                pass


def test_limits_idle_timeout():
    plain, changed = (socket.create_connection(("127.0.0.1", s.port), timeout=60) for s in (PLAIN, CHANGED))
    for sock in (plain, changed):  # a whole request and its answer; before that it is limits.header_timeout
        sock.sendall(b"GET /ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = b""
        while not head.endswith(b"ready\n"):
            more = sock.recv(4096)
            assert more, head
            head += more
    assert changed.recv(1) == b""  # closed
    plain.setblocking(False)
    try:
        raise AssertionError(plain.recv(1))
    except BlockingIOError:
        pass  # open


def partial(server, span):
    answer = server.post("/v1/traces", export_request([span]))
    assert answer.status == 200, answer.text
    return first(first(answer.body, 1), 2).decode() if answer.body else ""


def test_limits_attributes():
    span = make_span(attributes={f"k{i}": "v" for i in range(5)})
    assert both(lambda s: partial(s, span)) == ("", "2 attributes dropped (over the limits of this server)")


def test_limits_series():
    for s in (PLAIN, CHANGED):
        for i in range(12):
            assert s.post(f"/ingest?name=flood%7Brequest=r{i}%7D", pprof({"main;f": 5}), "application/octet-stream").status == 200
    assert both(lambda s: s.metric("spanflame_series_folded_total")) == (0, 7)


def test_limits_value():
    span = make_span(attributes={"long": "x" * 17})
    assert both(lambda s: partial(s, span)) == ("", "1 value cut (over the limits of this server)")


def folded(server, service):
    answer = server.get(f"/api/v1/profile?service={service}&format=folded")
    assert answer.status == 200, answer.text
    return answer.text


def push(server, service, stacks):
    answer = server.post(f"/api/v1/profile?service={service}", pprof(stacks), "application/octet-stream")
    assert answer.status == 200, answer.text


def test_limits_stack_depth():
    both(lambda s: push(s, "deep", {";".join(f"f{i}" for i in range(170)): 5}))
    plain, changed = both(lambda s: folded(s, "deep").split(" ")[0].split(";"))
    assert len(plain) == 170 and len(changed) == 160 and "(truncated)" in changed, (plain, changed)


def test_auth_allow_public_without_auth():
    def check(*more):
        env = {k: v for k, v in os.environ.items() if not k.startswith("SPANFLAME_")}
        return subprocess.run([PROGRAM, "check-config", "--set", "listen=0.0.0.0:4317", *more], capture_output=True, check=False, env=env).returncode
    assert check() == 1 and check("--set", "auth.allow_public_without_auth=true") == 0


def test_metrics_span_metrics_max_series():
    for s in (PLAIN, CHANGED):
        s.post("/v1/traces", export_request([make_span(name=f"op{i}", service="many") for i in range(40)]))
    plain, changed = both(lambda s: sum("many" in line and line.startswith("traces_spanmetrics_calls_total{") for line in s.metrics().splitlines()))
    assert plain == 40 and changed < 40, (plain, changed)


def span_metrics(s):
    s.send([make_span(service="metered", attributes={"http.route": "/cart"})])
    return [line for line in s.metrics().splitlines() if line.startswith("traces_spanmetrics_calls_total{") and "metered" in line]


def test_metrics_span_metrics_enabled():
    with Server("metrics: {span_metrics: {enabled: false}}\n") as s:
        assert span_metrics(PLAIN) and not span_metrics(s)


def test_metrics_span_metrics_dimensions():
    with Server("metrics: {span_metrics: {dimensions: [http.route]}}\n") as s:
        plain, changed = span_metrics(PLAIN)[0], span_metrics(s)[0]
        assert 'http_route="/cart"' in changed and "/cart" not in plain, (plain, changed)


def test_data():
    assert os.path.isdir(os.path.join(PLAIN.data, "wal"))


def test_log_level():
    with Server(flags=["--set", "log.level=error"]) as s:
        assert "level=info" in PLAIN.log() and "level=info" not in s.log(), s.log()


def test_store_flush_interval():
    with Server("store: {flush_interval: 1s}\n") as s:
        s.send([make_span()])
        wait_for(lambda: glob.glob(os.path.join(s.data, "**", "*.sfs"), recursive=True), "a block", 40)  # a minute by default


OLD = 5 * 3600  # seconds


def test_retention_spans():
    span = make_span(ago_ms=OLD * 1000)
    path = "/api/traces/" + span["trace_id"].hex()
    with Server("retention: {spans: 1s}\nstore: {flush_interval: 1s}\n") as s:
        for one in (PLAIN, s):
            one.send([span])
        wait_for(lambda: s.get(path).status == 404, "a span of five hours ago is still there", 60)
    assert PLAIN.get(path).status == 200


def test_retention_detail():
    """Samples of single spans go, and count on in the sums."""
    span = make_span(service="single", ago_ms=OLD * 1000)
    ids = (("span_id", span["span_id"].hex()), ("trace_id", span["trace_id"].hex()))
    begin = int(time.time()) - OLD
    ask = f"/api/v1/profile?service=single&from={begin - 60}&until={begin + 60}&format=folded"
    def detail(s):
        answer = s.get(ask + "&span_id=" + span["span_id"].hex())
        return answer.status == 200 and answer.text == "main;one 5\n"
    with Server("retention: {detail: 1h}\nstore: {flush_interval: 1s}\n") as s:
        for one in (PLAIN, s):
            one.send([span])
            assert one.post("/api/v1/profile?service=single", pprof({("main;one", ids): 5}, when=begin * 10**9), "application/octet-stream").status == 200
        assert detail(PLAIN)
        wait_for(lambda: not detail(s), "samples of five hours ago still name their span", 60)
        assert s.get(ask).text == "main;one 5\n", s.get(ask).text
    assert detail(PLAIN)


def test_alerts_pack():
    def names(one):
        return [r["name"] for g in one.json("/api/v1/rules")["data"]["groups"] for r in g["rules"]]

    def rules(*more):
        with Server("alerts: {webhook: 'http://127.0.0.1:9/'%s}\n" % "".join(more)) as s:
            return names(s)
    assert "spanflame_cpu" in rules() and "spanflame_cpu" not in rules(", pack: false")
    assert names(PLAIN) == [], "without a receiver there is nobody to tell"


def test_symbols_max_total():
    p = symbols_flow.the_program()
    with Server("symbols: {max_total: 1KB}\n") as s:
        assert symbols_flow.put(PLAIN, p.build_id, p.stripped).status in (200, 201)
        assert symbols_flow.put(s, p.build_id, p.stripped).status not in (200, 201)


def test_metrics_service_graph_wait():
    """A call without its other side is counted when it has waited long enough; 10 s by default, and ten minutes here."""
    name = 'traces_service_graph_unpaired_spans_total{client="",server="lonely"'
    def is_counted(s):
        return name in s.metrics()
    with Server("metrics: {service_graph: {wait: 1s}}\n") as s:
        for one in (CHANGED, s):
            one.send([make_span(kind=2, service="lonely", parent=os.urandom(8))])
        wait_for(lambda: is_counted(s), "the call that waited a second")
        time.sleep(0.5)
        assert not is_counted(CHANGED)


def test_retention_full_resolution():
    """Older profiles become sums of ten minutes: a minute in the middle has none."""
    begin = (int(time.time()) - 5 * 3600) // 600 * 600

    def middle(s):
        return s.get(f"/api/v1/profile?service=old&from={begin + 50}&until={begin + 110}&format=folded")
    with Server("retention: {full_resolution: 1h}\nstore: {flush_interval: 1s}\n") as changed:
        for s in (PLAIN, changed):
            for at in (begin, begin + 30, begin + 60, begin + 90):
                assert s.post("/api/v1/profile?service=old", pprof({"main;x": 5}, when=at * 10**9), "application/octet-stream").status == 200
        wait_for(lambda: middle(changed).status == 404, "profiles of five hours ago are kept as they were", 60)
    assert middle(PLAIN).text == "main;x 10\n", middle(PLAIN).text


def test_log_format():
    plain, changed = both(lambda s: s.log().splitlines()[0])
    assert "level=" in plain and "level=" not in changed, (plain, changed)


def ignored(reason):
    """Spans that made no edge for that reason, of both servers"""
    return both(lambda s: s.metric(f'spanflame_service_graph_ignored_spans_total{{reason="{reason}"}}'))


def test_metrics_service_graph_max_series():
    spans = []
    for i in range(15):
        client = make_span(kind=3, service=f"client{i}")
        spans += [client, make_span(trace=client["trace_id"], parent=client["span_id"], kind=2, service="server")]
    for s in (PLAIN, CHANGED):
        for i in range(0, len(spans), 10):  # no more at a time than may wait
            s.post("/v1/traces", export_request(spans[i:i + 10]))
    plain, changed = ignored("too_many_series")
    assert plain == 0 < changed, (plain, changed)


def test_metrics_service_graph_max_items():
    for s in (PLAIN, CHANGED):
        for _ in range(3):
            s.post("/v1/traces", export_request([make_span(kind=3, service="waits") for _ in range(10)]))
    plain, changed = ignored("too_many_waiting")
    assert plain == 0 < changed, (plain, changed)


# One profile has all of it: a third each of waiting for locks, garbage collection and regular expressions, a function with many
# callers, and a stack of 150 frames.
STACKS = {"main;pthread_mutex_lock;__lll_lock_wait": 300, "main;runtime.gcBgMarkWorker;runtime.gcDrain;runtime.scanobject": 300,
          "main;price;regexp.(*Regexp).doExecute": 300, ";".join(f"level{i}" for i in range(150)): 60}
STACKS.update({f"main;caller{i};helper;step{i}": 40 for i in range(10)})


IS_SENT = []


def kinds(server, more=""):
    found = server.json("/api/v1/findings?" + urllib.parse.urlencode({"service": "stands-out"}) + more)["findings"]
    return {f["kind"]: f["sentence"] for f in found}


def check_finding(word):
    if not IS_SENT:
        both(lambda s: push(s, "stands-out", STACKS))
        IS_SENT.append(True)
    plain, changed = both(kinds)
    assert any(word in s for s in plain.values()), plain
    assert not any(word in s for s in changed.values()), changed


def test_findings_stack_depth():
    check_finding("150 frames")


def test_findings_callers():
    check_finding("called from 10 places")


def test_findings_gc():
    check_finding("garbage collection")


def test_findings_lock():
    check_finding("waiting for locks")


def test_findings_repeated():
    spans = [make_span(service="parses", name="op", ms=200, ago_ms=1000) for _ in range(20)]
    stacks = {}
    for span in spans:
        ids = (("span_id", span["span_id"].hex()), ("trace_id", span["trace_id"].hex()))
        stacks.update({("main;totals;jsonParse;jsonValue", ids): 20 * 10**6, ("main;totals;sum", ids): 80 * 10**6})
    for s in (PLAIN, CHANGED):
        s.send(spans)
        push(s, "parses", stacks)
        while s.json("/api/v1/coverage?service=parses")["spans"] < len(spans):  # searches see new spans within 50 ms
            time.sleep(0.01)
    plain, changed = both(lambda s: [f["kind"] for f in s.json("/api/v1/findings?service=parses")["findings"]])
    assert "repeated_parse" in plain and "repeated_parse" not in changed, (plain, changed)


def test_findings_theme():
    check_finding("pattern matching")
    assert not any("pattern matching" in said for said in kinds(PLAIN, "&theme=60%25").values()), "the same as a parameter"


def test_the_page_is_told_where_sources_and_logs_are():
    links = {"source_link": "https://git.example/{file}#L{line}", "source_root": "/usr/src/", "logs_link": "http://logs.example/?q={traceId}"}
    with Server("page:\n" + "".join(f"  {key}: '{value}'\n" for key, value in links.items())) as s:
        assert s.json("/api/v1/links") == {"source": links["source_link"], "sourceRoot": links["source_root"], "logs": links["logs_link"], "hasFiles": False}
        assert s.get("/api/v1/source?file=shop.c").status == 404


def test_source_is_read_below_its_folder_and_nowhere_else():
    home = tempfile.mkdtemp(prefix="spanflame-source-")
    folder = os.path.join(home, "src")
    os.makedirs(os.path.join(folder, "shop", ".git"))
    def write(path, content):
        with open(os.path.join(home, path), "wb") as f:
            f.write(content)
    write("src/shop/order.c", b"one\r\n<b>two</b>\n\xff\xfethree\n" + b"x" * 5000 + b"\nlast")
    write("secret.c", b"not yours\n")
    write("src/shop/.git/config.c", b"not yours\n")
    write("src/shop/tokens", b"not yours\n")
    write("src/shop/.hidden.c", b"not yours\n")
    write("src/shop/binary.c", b"a\0b\n")
    write("src/long.c", b"y\n" * 3000)
    write("src/large.c", b"z" * (4 << 20))
    write("src/larger.c", b"z" * ((4 << 20) + 1))
    os.symlink("order.c", os.path.join(folder, "shop", "inside.c"))
    os.symlink("../../secret.c", os.path.join(folder, "shop", "outside.c"))
    os.symlink("/etc", os.path.join(folder, "shop", "etc"))
    os.symlink(os.path.join(home, "secret.c"), os.path.join(folder, "absolute.c"))
    os.mkfifo(os.path.join(folder, "pipe.c"))
    os.mkdir(os.path.join(folder, "folder.c"))
    try:
        with Server(f"page: {{source_folder: {folder}, source_root: /usr/src/}}\n") as s:
            def ask(file, more=""):
                return s.get("/api/v1/source?file=" + urllib.parse.quote(file, safe="") + more)
            assert s.json("/api/v1/links")["hasFiles"]
            for path in ("/usr/src/shop/order.c", "shop/order.c", "/build/elsewhere/shop/order.c", "//shop/order.c"):
                told = json.loads(ask(path).text)
                assert told["lines"][:2] == ["one", "<b>two</b>"] and told["lines"][4] == "last" and told["first"] == 1, (path, told)
                assert told["lines"][2].endswith("three") and len(told["lines"][3]) == 1024, told
            assert json.loads(ask("shop/order.c", "&from=2&until=2").text) == {"file": "shop/order.c", "first": 2, "lines": ["<b>two</b>"]}
            assert json.loads(ask("shop/order.c", "&from=900&until=901").text)["lines"] == []
            assert len(json.loads(ask("long.c").text)["lines"]) == 1000 and len(json.loads(ask("long.c", "&from=1&until=1000").text)["lines"]) == 1000
            assert ask("long.c", "&from=1&until=1001").status == 400 and ask("long.c", "&from=7&until=6").status == 400
            assert ask("large.c").status == 200 and ask("larger.c").status == 413
            for path in ("../secret.c", "shop/../../secret.c", "/usr/src/../secret.c", "shop/.git/config.c", "shop/.hidden.c", "shop/tokens",
                         "shop/./order.c", "shop//order.c", "shop\\..\\secret.c", "", "/", ".c", "shop/order.c/", "shop/order.c\n", "a" * 5000 + ".c"):
                assert ask(path).status == 400, (path, ask(path))
            for path in ("shop/inside.c", "shop/outside.c", "absolute.c", "pipe.c", "folder.c"):
                assert ask(path).status == 403 and "not yours" not in ask(path).text, (path, ask(path))
            assert ask("shop/binary.c").status == 400
            for path in ("shop/etc/hosts.c", "nowhere.c", os.path.join(home, "secret.c")):
                assert ask(path).status in (403, 404), (path, ask(path))
            write("src/shop/order.c", b"")
            assert json.loads(ask("shop/order.c").text)["lines"] == []
    finally:
        shutil.rmtree(home)


def test_store_flush_log():
    blocks = lambda s: len(glob.glob(os.path.join(s.data, "**", "*.sfs"), recursive=True))
    with Server("memory: 2GiB\nstore: {flush_log: 64MiB, flush_interval: 10m}\n") as s:
        body = export_request([make_span(attributes={"long": "x" * 60000}) for _ in range(130)])  # 7.8 MB
        for i in range(10):
            at = body.rindex(b"x" * 8)
            text = body[:at] + b"%08d" % i + body[at + 8:]  # no repeat
            assert s.post("/v1/traces", text, timeout=120).status == 200
            assert i > 5 or blocks(s) == 0, i  # 47 MB
        wait_for(lambda: blocks(s), "the log is longer than flush_log, and nothing became a block")


# ---- redaction: the command reads the same keys ----

def redacted(text, **keys):
    """Places that `spanflame redact` would change."""
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        f.write(text)
        f.flush()
        args = [word for key, value in keys.items() for word in ("--set", f"redact.{key}={value}")]
        env = {k: v for k, v in os.environ.items() if not k.startswith("SPANFLAME_")}
        done = subprocess.run([PROGRAM, "redact", "--dry-run", f.name, "--output", "json", *args], capture_output=True, text=True,
                              check=False, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_redact(span, before, after, **common):
    text = json_request([span])
    plain, changed = redacted(text, **common, **before), redacted(text, **common, **after)
    assert plain != changed, (plain, changed)


def test_redact_allow():
    check_redact(make_span(attributes={"db.password": "hunter2"}), {}, {"allow": "db.password"})


def test_redact_replace():
    span = make_span(attributes={"db.password": "hunter2"})
    s = Server("redact: {replace: hash, hash_key_file: HOME/key}\n")
    with open(os.path.join(s.home, "key"), "wb") as f:
        f.write(os.urandom(32))
    with s:
        for one in (PLAIN, s):
            one.send([span])
        texts = [one.get("/api/traces/" + span["trace_id"].hex(), headers={"Accept": "application/json"}).text for one in (PLAIN, s)]
    assert "[REDACTED]" in texts[0] and "[REDACTED:" in texts[1] and "hunter2" not in "".join(texts), texts


def test_redact_builtin():
    check_redact(make_span(attributes={"db.password": "hunter2"}), {"builtin": "true"}, {"builtin": "false"})


def test_redact_match():
    check_redact(make_span(attributes={"tokenize": "hunter2"}), {"match": "words"}, {"match": "substring"})


def test_redact_keys():
    check_redact(make_span(attributes={"db.password": "hunter2"}), {"keys": "true"}, {"keys": "false"})


def test_redact_values():
    check_redact(make_span(attributes={"note": "password=hunter2"}), {"values": "true"}, {"values": "false"})


def test_redact_names():
    check_redact(make_span(name="login password=hunter2"), {"names": "true"}, {"names": "false"})


def test_redact_files():
    profile = json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json",
                          "shared": {"frames": [{"name": "work", "file": "/home/acme/src/work.c", "line": 1}]},
                          "profiles": [{"type": "sampled", "name": "p", "unit": "seconds", "startValue": 0, "endValue": 1,
                                        "samples": [[0]], "weights": [1]}]}).encode()
    plain, changed = (redacted(profile, patterns="acme", files=how) for how in ("match", "none"))
    assert plain != changed, (plain, changed)


# ---- names of code ----

def test_symbols_wait():
    """A query that does not wait says that names are pending, the first time at least: the file has 60,000 compressed names to be
    read while it is answered, and a program of the same kind is tried until that was seen."""
    many = "enum kind { " + ", ".join(f"kind_of_order_number_{i}" for i in range(60000)) + " };\nvolatile enum kind kind_of_order;\n"
    seen = []
    for i in range(20):
        p = symbols_flow.Program(name=f"worker{i}", text=symbols_flow.SOURCE + many)
        symbols_flow.run("objcopy", "--compress-debug-sections=zlib", p.debug)
        assert symbols_flow.put(CHANGED, p.build_id, p.debug).status == 201
        assert symbols_flow.put(PLAIN, p.build_id, p.debug).status == 201
        pending = []
        for s in (PLAIN, CHANGED):
            symbols_flow.send(s, f"named{i}", p)
            pending.append(symbols_flow.folded(s, f"named{i}")[1].headers.get("x-spanflame-symbols") is not None)
        p.close()
        seen.append(pending)
        if pending == [False, True]:
            return
    raise AssertionError(seen)


def test_symbols_timeout():
    p = symbols_flow.the_program()
    silent = socket.socket()
    silent.bind(("127.0.0.1", 0))
    silent.listen(8)
    with Server(symbols_flow.config(f"http://127.0.0.1:{silent.getsockname()[1]}", more="  timeout: 100ms\n")) as s:
        symbols_flow.send(s, "silent", p)
        symbols_flow.folded(s, "silent")
        wait_for(lambda: "symbols: " in s.log(), "the server that does not answer is waited for", 40)  # a minute by default
    silent.close()


def test_symbols_cache():
    p = symbols_flow.the_program()
    with open(p.debug, "rb") as f:
        listening, url = symbols_flow.peer({f"/buildid/{p.build_id}/debuginfo": (200, {}, f.read())})
    kept = {}
    for size in ("1", "2GiB"):
        with Server(symbols_flow.config(url, more=f"  cache: {size}\n")) as s:
            symbols_flow.send(s, "far", p)
            symbols_flow.folded(s, "far")
            wait_for(lambda: symbols_flow.Peer.asked, "the file is not asked for")
            wait_for(lambda: symbols_flow.NAMED <= symbols_flow.functions(s, "far") or size == "1", "no names")
            if size == "1":
                time.sleep(0.5)
            kept[size] = len(glob.glob(os.path.join(s.data, "symbols", "fetched", "*")))
    listening.shutdown()
    assert kept == {"1": 0, "2GiB": 1}, kept


tap.run(sys.modules[__name__])
