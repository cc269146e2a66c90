#!/usr/bin/env python3
"""Every query parameter of our own calls, as the server's table of routes and docs/api.md have them: given, it changes the answer
or is refused; a word that is none of its values is refused; and each is documented. Nothing is accepted and ignored."""
import json
import os
import re
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import JSON, Server, tap  # noqa: E402

SOURCE = os.environ["SOURCE_ROOT"]
S, MS = 10**9, 10**6
T = (time.time_ns() // S - 120) * S
CONFIG = """
alerts:
  rules:
    - name: Errors
      traceql: '{ } | rate()'
      above: 0.001
    - name: Others
      traceql: '{ status = error } | rate()'
      above: 100000
"""
server = Server(config=CONFIG).start()


def span(number, service, name, parent=None, at=0, ms=1000, version="1", **more):
    trace = parent["trace_id"] if parent else number.to_bytes(16, "big")
    return {"trace_id": trace, "span_id": number.to_bytes(8, "big"), "parent": parent and parent["span_id"], "name": name, "service": service,
            "start": T + at * MS, "end": T + (at + ms) * MS, "kind": 1 if parent else 2, "resource": {"service.version": version, "service.instance.id": service + version}, **more}


def upload(service, body, more=""):
    answer = server.post(f"/api/v1/profile?service={service}{more}", body, "application/octet-stream")
    assert answer.status == 200, answer.text


def send():
    roots = [span(16 * i + 1, "shop", "GET /cart", at=4000 * i, ms=1000 + 100 * i, version=str(1 + i // 10)) for i in range(20)]
    children = [span(16 * i + 2, "shop", "price", parent=r, at=4000 * i + 100, ms=400, version=str(1 + i // 10)) for i, r in enumerate(roots)]
    for half in (roots[:10] + children[:10], roots[10:] + children[10:], [span(5000, "bank", "pay", error=True)]):
        server.send(half)
    for kind, unit, value in (("cpu", "nanoseconds", 10 * MS), ("alloc_space", "bytes", 4096)):
        stacks = {}
        for i, (root, child) in enumerate(zip(roots, children)):
            stacks[("main;serve;render", (("span_id", root["span_id"].hex()),))] = (40 if kind == "cpu" else 10) * value
            stacks[("main;serve;price;regex_match", (("span_id", child["span_id"].hex()),))] = (20 + i) * value
        upload("shop", pprof(stacks, sample_type=kind, unit=unit, when=T, seconds=90, period=value), "&label=env=prod")
    upload("shop", b"main;other 7\n", f"&type=cpu&label=env=test&from={T // S}&until={T // S + 10}")
    upload("bank", b"main;pay 7\n", f"&type=cpu&from={T // S}&until={T // S + 10}")
    assert server.post("/api/v1/deploys", json.dumps({"service": "shop", "version": "2", "time": f"{T // S}"}), JSON).status in (200, 400)
    for service, instance in (("shop", "a"), ("bank", "b")):
        server.get(f"/api/v1/control?service={service}&instance={instance}&host=h&pid=1&agent=x")
        assert server.post(f"/api/v1/profiling?service={service}", b'{"enabled": true}', JSON).status == 200
    assert server.post(f"/api/v1/pins/{roots[0]['trace_id'].hex()}?for=1d", b"", JSON).status == 200
    return roots, children


ROOTS, KIDS = send()
TRACE, SPAN, CHILD = ROOTS[0]["trace_id"].hex(), ROOTS[0]["span_id"].hex(), KIDS[0]["span_id"].hex()
RANGE = f"from={T // S - 5}&until={T // S + 100}"
EARLY = {"from": f"{T // S + 50}", "until": f"{T // S - 1}"}  # without most of it
ALL = urllib.parse.quote('{ resource.service.name = "shop" && name = "GET /cart" }')
BANK = urllib.parse.quote('{ resource.service.name = "bank" }')
PRICE = urllib.parse.quote('{ name = "price" }')

# Method, path, what is asked, and for each parameter another value: the answer is another, or an error. A list: words of a
# question of its own. None: see ELSEWHERE.
WALK = [
    ("GET", f"/api/v1/trace/{TRACE}", "", {"type": "alloc_space", "start": None, "end": None}),
    ("GET", f"/api/v1/traces/{TRACE}/flame", "", {"by": "wall", "type": "alloc_space", "waits": "by=wall&waits=true", "format": "folded"}),
    ("GET", f"/api/v1/spans/{TRACE}/{SPAN}/profile", "", {"self": "true", "timeline": "true", "part": "cpu", "type": "alloc_space", "format": "folded"}),
    ("GET", f"/api/v1/spans/{TRACE}/{SPAN}/coverage", "", {"type": "alloc_space", "format": "text"}),
    ("GET", f"/api/v1/spans/{TRACE}/{SPAN}/ledger", "", {"format": "text"}),
    ("GET", "/api/v1/services", RANGE, {"service": "shop", **EARLY}),
    ("GET", "/api/v1/deploys", RANGE, {"service": "bank", "format": "text", **EARLY}),
    ("GET", "/api/v1/targets", "", {"format": "text"}),
    ("GET", "/api/v1/alerts", "", {"format": "text"}),
    ("GET", "/api/v1/alerts/test", "rule=Errors&" + RANGE, {"rule": "Others", "format": "text", **EARLY}),
    ("GET", "/api/v1/balance", "service=shop&" + RANGE, {"service": "bank", "instance": "shop1", "type": "alloc_space", "limit": "2", **EARLY}),
    ("GET", "/api/v1/cohort", f"q={ALL}&{RANGE}", {"q": PRICE, "per": "all", "type": "alloc_space", "self": "true", "time": "all", "format": "folded", **EARLY}),
    ("GET", "/api/v1/compare", f"q={ALL}&{RANGE}", {"q": PRICE, "split": "p50", "left": f"left={ALL}&right={PRICE}&{RANGE}", "right": f"left={ALL}&right={ALL}&{RANGE}",
                                                  "by": f"q={ALL}&by=resource.service.version&left=1&right=2&{RANGE}", "type": "alloc_space", "format": "text", **EARLY}),
    ("GET", "/api/v1/coverage", "service=shop&" + RANGE, {"service": "bank", "type": "alloc_space", "format": "text", **EARLY}),
    ("GET", "/api/v1/explain", f"q={ALL}&{RANGE}", {"trace": f"trace={TRACE}", "span": f"span={SPAN}", "q": PRICE, "split": "p50", "service": f"service=shop&version=2&{RANGE}",
                                                  "version": f"service=shop&version=1&{RANGE}", "against": f"service=shop&version=2&against=7&{RANGE}", "focus": "regex_match", "format": "text", **EARLY}),
    ("GET", "/api/v1/findings", "service=shop&" + RANGE, {"service": "bank", "each": f"each=service&{RANGE}", "trace": f"trace={TRACE}", "span": f"span={SPAN}", "q": f"q={ALL}&{RANGE}",
                                                        "left": f"left={ALL}&right={PRICE}&{RANGE}", "right": f"left={ALL}&right={BANK}&{RANGE}",
                                                        "baseline": f"baseline=shop%7Benv=prod%7D&comparison=shop&{RANGE}", "comparison": f"baseline=shop&comparison=bank&{RANGE}",
                                                        "type": "alloc_space", "format": "text", "leaf": "90%25", "stack_depth": "2", "repeated": "repeated=1%25&callers=1&" + "service=shop&" + RANGE,
                                                        "callers": "1", "equal_spans": None, "gc": None, "lock": None, "theme": None, **EARLY}),
    ("GET", "/api/v1/keep", RANGE, {"slow": "1ms", "cpu": "1", "errors": "false", "baseline": "50", "format": "text", **EARLY}),
    ("GET", f"/api/v1/keep/{TRACE}", "", {"format": "text"}),
    ("GET", "/api/v1/pins", "", {"format": "text"}),
    ("GET", "/api/v1/frames/spans", "function=main&" + RANGE, {"function": "regex_match", "pattern": "pattern=reg.*&" + RANGE, "service": "bank", "type": "alloc_space", "limit": "3",
                                                             "format": "text", **EARLY}),
    ("GET", "/api/v1/profile", "service=shop&type=cpu&" + RANGE, {"service": "bank", "app": "app=bank&" + RANGE, "selector": "selector=shop%7Benv=test%7D&" + RANGE, "call_site": "main&call_site=other",
                                                       "frame": "regex_match", "not_frame": "regex_match", "frame_regex": "reg.*", "not_frame_regex": "reg.*", "type": "alloc_space",
                                                       "span_id": SPAN, "trace_id": TRACE, "format": "folded", "max_nodes": "2", "ids": "true", **EARLY}),
    ("GET", "/api/v1/profiling", "service=shop", {"service": "bank", "instance": "a"}),
    ("GET", "/api/v1/profiling/audit", "", {"service": "bank", "format": "text"}),
    ("GET", "/api/v1/collectors", "", {"service": "bank", "format": "text"}),
    ("GET", "/api/v1/rules", "", {"type": "record"}),
]
ELSEWHERE = {
    "/api/v1/store": {"format": "fleet_flow.py"},  # needs ClickHouse
    "/api/v1/store/migrate": {"format": "fleet_move_flow.py"},
    "POST /api/v1/store/migrate": {"to": "fleet_move_flow.py", "format": "fleet_move_flow.py"},
    "/api/v1/store/verify": {"since": "fleet_flow.py", "format": "fleet_flow.py"},  # where a parameter is tried whose effect takes more than another value
    "/api/v1/trace/{}": {"start": "read_flow.py", "end": "read_flow.py"},  # where to look: what is in memory is found anyway
    "/api/v1/findings": {"equal_spans": "findings_flow.py", "gc": "findings_flow.py", "lock": "findings_flow.py", "theme": "server_keys_flow.py"},
    "/api/v1/source": dict.fromkeys(("file", "from", "until"), "server_keys_flow.py"),
    "/api/v1/alerts/history": {"rule": "alerts_flow.py", "limit": "alerts_flow.py"},
    "/api/v1/control": dict.fromkeys("service instance wait format rate paused cost host pid agent problem capture from until".split(), "control_flow.py"),
    "POST /api/v1/profile": dict.fromkeys("service app type label format trace_id span_id profile_id sample_rate from until".split(), "profiles_flow.py"),
    "POST /api/v1/profiling": dict.fromkeys(("service", "instance"), "control_flow.py"),
    "PUT /api/v1/profiling": dict.fromkeys(("service", "instance"), "control_flow.py"),
    "DELETE /api/v1/profiling": dict.fromkeys(("service", "instance"), "control_flow.py"),
    "POST /api/v1/profiling/capture": dict.fromkeys("service instance type seconds rate format wait".split(), "control_flow.py"),
    "POST /api/v1/pins/{}": {"for": "keep_flow.py", "note": "keep_flow.py"},
    "POST /api/v1/erase": dict.fromkeys("trace traces service from until all dry_run".split(), "parameters_flow.py"),
    "DELETE /api/v1/erase": dict.fromkeys("trace traces service from until all dry_run".split(), "parameters_flow.py"),
}


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as f:
        return f.read()


def routes():
    """{("GET", "/api/v1/keep/{}"): ["format", ...]} of our own calls, from the server's own table."""
    text = read("src", "serve", "route_table.c").split("const struct sf_route sf_routes[]")[1]
    for name, file in (("SF_EXPLAIN_PARAMS", "explain.h"), ("SF_KEEP_PARAMS", "keep.h"), ("SF_SYMBOLS_PATH", "symbols.h")):
        text = text.replace(name, re.search(name + r'[ \\\n]+("[^"]*")', read("src", "serve", "own", file))[1])
    text = text.replace("ERASE_PARAMS", re.search(r'ERASE_PARAMS ("[^"]*")', read("src", "serve", "route_table.c"))[1])
    out = {}
    for call in re.findall(r"\n    (?:[A-Z_]+\(|\{)(?:[^()\"]|\"[^\"]*\"|\([^()]*\))*?(?:\)|\}),(?=\n)", text):
        strings = re.findall(r'((?:"[^"]*"\s*)+)', call)
        words = ["".join(re.findall(r'"([^"]*)"', s)) for s in strings]
        if not words or not words[0].startswith("/api/v1/") or "status" in words[0]:
            continue
        method = re.search(r"SF_METHOD_([A-Z]+)", call)
        if method is None and call.strip().startswith("PIN"):
            continue
        out[(method[1] if method else "GET", words[0])] = [w.split("=")[0].rstrip("*") for w in words[1].split()] if len(words) > 1 else []
    return out


def route_of(method, path):
    """The line of the table that a path of the walk is of."""
    for m, p in routes():
        if m == method and re.fullmatch(re.sub(r"\\\{(\\\*)?\\\}", lambda x: ".+" if x[1] else "[^/]+", re.escape(p)), path):
            return p
    raise AssertionError((method, path))


def ask(method, path, query):
    answer = server.request(method, path + ("?" + query if query else ""))
    text = re.sub(r'"(secondsAgo|lastSeen|waiting|fromUnixNano|untilUnixNano|lastEvaluation|evaluationTime|activeAt|command|page)":("[^"]*"|[^,}]*)', "", answer.text)
    return answer.status, re.sub(r"\d+ s ago", "", text)


def query_with(base, name, value):
    """A value with a = is a question of its own; another takes the place of the base's."""
    if "=" in value and not value.startswith("main&"):
        return value
    kept = [p for p in base.split("&") if p and p.split("=")[0] != name]
    return "&".join(kept + [f"{name}={value}"])


def test_the_walk_has_every_parameter_of_every_route():
    walked = {}
    for method, path, _, others in WALK:
        walked.setdefault((method, route_of(method, path)), set()).update(others)
    found = routes()
    assert len(found) > 35, sorted(found)
    for (method, path), names in found.items():
        elsewhere = ELSEWHERE.get(path if method == "GET" else f"{method} {path}", {})
        for name in names:
            assert name in walked.get((method, path), ()) or name in elsewhere, f"{method} {path}: {name} is tried nowhere"
        for name in elsewhere:
            assert name in names, f"{method} {path} has no parameter {name}"
    for file in {f for names in ELSEWHERE.values() for f in names.values()}:
        assert os.path.exists(os.path.join(SOURCE, "tests", "flow", file)), file


def test_every_parameter_changes_the_answer_or_is_refused():
    for method, path, base, others in WALK:
        first = ask(method, path, base)
        assert first[0] == 200, (path, base, first)
        assert ask(method, path, base) == first, (path, "the same question has two answers")
        for name, value in others.items():
            if value is None:
                continue
            query = query_with(base, name, value)
            answer = ask(method, path, query)
            assert answer != first, f"{path}?{query}: {name} changes nothing"
            assert answer[0] < 500, (path, query, answer)


WORDS = {"format": "nonsense", "type": "no such type", "by": "nonsense", "per": "nonsense", "time": "nonsense", "split": "nonsense", "part": "nonsense", "self": "nonsense",
         "waits": "nonsense", "timeline": "nonsense", "errors": "nonsense", "limit": "nonsense", "max_nodes": "nonsense", "from": "nonsense", "until": "nonsense", "leaf": "nonsense",
         "callers": "0", "slow": "nonsense", "cpu": "nonsense", "baseline": None, "each": "nonsense", "span_id": "nonsense", "trace_id": "nonsense", "trace": "nonsense", "span": "nonsense",
         "stack_depth": "nonsense", "repeated": "nonsense", "theme": "nonsense", "ids": "nonsense", "q": "nonsense", "frame_regex": "(", "not_frame_regex": "(", "pattern": "(", "start": "nonsense", "end": "nonsense"}


def test_a_value_that_means_nothing_is_refused():
    for method, path, base, others in WALK:
        for name in others:
            value = WORDS.get(name)
            if value is None or (path.endswith("/rules") and name == "type"):
                continue
            query = query_with(base, name, urllib.parse.quote(value))
            status, text = ask(method, path, query)
            assert status in (400, 404), f"{path}?{query}: {status} {text[:200]}"


def test_a_slip_in_any_parameter_is_refused_and_a_long_value_is_obeyed():
    """Unknown, empty, repeated and broken parameters; and one of 5,000 bytes, which calls once read as none."""
    for method, path, base, others in WALK:
        is_loose = path in ("/api/v1/profile", "/api/v1/rules")  # addresses that people copy from elsewhere
        first = ask(method, path, base)
        more = path + "?" + (base + "&" if base else "")
        for name in others:
            for slip in ([] if is_loose else [f"{name.capitalize()}=1", f"{name}=", name]) + [f"{name}=%zz"]:
                status, text = ask(method, more + slip, "")
                assert status == 400, f"{more}{slip}: {status} {text[:200]}"
            if name not in ("call_site", "frame", "not_frame", "frame_regex", "not_frame_regex"):
                value = others[name] if others[name] and "=" not in others[name] else "1"
                status, text = ask(method, path, f"{query_with(base, name, value)}&{name}={value}")
                assert status == 400 and "more than once" in text, f"{more}{name}: {status} {text[:200]}"
            status, text = ask(method, path, query_with(base, name, "9" * 5000))
            is_none = name in ("not_frame", "not_frame_regex")  # takes away what is not there
            assert ((status, text) != first or is_none) and status < 500, f"{more}{name}: 5,000 bytes are passed over"
            assert ask(method, path, query_with(base, name, "9" * 140000))[0] == 414, more + name


def test_a_long_instance_is_not_all_instances():
    for method, path, body in (("PUT", "/api/v1/profiling", b'{"enabled": false}'), ("POST", "/api/v1/profiling", b'{"enabled": false}'), ("DELETE", "/api/v1/profiling", None),
                               ("POST", "/api/v1/profiling/capture", b"")):
        for more in ("instance=" + "x" * 5000, "instance=a&type=" + "x" * 100, "instance=a&service=" + "x" * 5000):
            answer = server.request(method, f"{path}?service=shop&{more}", body, {"Content-Type": JSON})
            assert answer.status == 400, (method, path, more[:40], answer.status, answer.text)
    assert json.loads(server.get("/api/v1/profiling?service=shop").body)["effective"] == {"enabled": True}


def test_a_time_beside_a_trace_is_refused():
    for path in (f"/api/v1/explain?trace={TRACE}", f"/api/v1/explain?span={SPAN}", f"/api/v1/findings?trace={TRACE}", f"/api/v1/findings?span={SPAN}"):
        assert server.get(path).status == 200, path
        for more in ("from=now-1h", "until=now"):
            answer = server.get(f"{path}&{more}")
            assert answer.status == 400 and "from and until" in answer.text, (path, more, answer.text)
    answer = server.get(f"/api/v1/findings?each=service&format=text&{RANGE}")
    assert answer.status == 400 and "JSON" in answer.text, answer.text


def test_every_parameter_is_documented():
    """In the section of its call, or in the table that has it."""
    text = read("docs", "api.md")
    for (method, path), names in routes().items():
        start = re.escape(path.replace("/{*}/", "/{trace}/{span}/")).replace(r"\{\}", r"\{[^}]*\}")
        places = [text[m.start():m.start() + 6000] for m in re.finditer(start + r"[`?&\s|,]", text)]
        assert places, f"{method} {path} is not in docs/api.md"
        for name in names:
            assert any(re.search(rf"[`?&]{name}[`=]|`\"{name}\"", p) for p in places), f"docs/api.md does not tell of {name} of {method} {path}"


tap.run(sys.modules[__name__])
