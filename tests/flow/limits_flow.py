#!/usr/bin/env python3
"""Limits that are documented can be reached: each row of docs/limits.md is met exactly, which is accepted, and by one more,
which is refused with a sentence or cut and counted. A limit without a case fails the first test."""
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.parse
import zlib

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import packed  # noqa: E402
from server import PROGRAM, Server, field, fixed64, make_span, span_message, tap  # noqa: E402

ROOT = os.environ["SOURCE_ROOT"]
KIB, S = 1024, 10**9
server = Server(config="tenancy:\n  enabled: true\nlimits:\n  body: 1MiB\n  inflated: 2MiB\n  series: 20\n"
                "symbols:\n  max_file: 64KiB\n")
N_KEPT = 499  # settings of one tenant, as a server writes them: one by one they would be synced to the disk so often
os.makedirs(server.data)
with open(os.path.join(server.data, "settings"), "w", encoding="ascii") as kept:
    for at in range(N_KEPT):
        kept.write(json.dumps({"tenant": "settings", "name": f"n{at}", "value": "v", "modifiedAt": 1}) + "\n")
server.start()
ORG = {"X-Scope-OrgID": "limits"}
NOW = int(time.time())


# ---- ways to ask ----

def raw(lines, target="/ready"):
    """The status of a request of exactly these header lines."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall((f"GET {target} HTTP/1.1\r\n" + "".join(line + "\r\n" for line in lines) + "\r\n").encode())
        return int(s.makefile("rb").readline().split()[1])


def get(path, **params):
    return server.get(path + "?" + urllib.parse.urlencode(params), headers=ORG, timeout=60)


def attribute(number, key, value):
    return field(number, field(1, key) + field(2, value))


def cut(what):
    return server.metric(f'spanflame_cut_total{{what="{what}"}}') or 0


def send(more, n=1, status=200, name="op"):
    """A span with these further fields; the answer."""
    s = span_message(make_span(name=name)) + more
    body = field(1, field(1, attribute(1, "service.name", field(1, "limits"))) + field(2, field(2, s) * n))
    answer = server.post("/v1/traces", body, headers=ORG, timeout=60)
    assert answer.status == status, (answer.status, answer.text[:200])
    return answer


def cuts(what, at_most, one_more, **names):
    """At the limit nothing is cut, one beyond something is, and it is counted."""
    before = cut(what)
    send(at_most, **names)
    assert cut(what) == before, what
    send(one_more, **{k: v + "x" for k, v in names.items()})
    assert cut(what) == before + 1, (what, before, cut(what))


def refuses(answer, status, *words):
    assert answer.status == status and all(w in answer.text for w in words), (answer.status, answer.text[:300])


# ---- one case for each limit ----

def headers(n):
    few = ["Host: 127.0.0.1"] + [f"x-{i}: y" for i in range(n - 1)]
    assert raw(few) == 200 and raw(few + ["x-more: y"]) == 431


def header(length):
    def is_taken(n):
        return raw(["Host: 127.0.0.1"] + [f"x-{i}: " + "y" * (n // 16) for i in range(15)] + ["x-last: " + "y" * (n % 16)]) == 200
    low, high = length // 2, 2 * length
    assert is_taken(low) and not is_taken(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_taken(middle) else (low, middle)
    assert length - 4 * KIB < low * 15 / 16 + 15 <= length, low


def target(length):
    def ask(n):
        path, left = "/api/v2/search/tags?", n - len("/api/v2/search/tags?")
        parts = []
        while left:
            size = min(left, 100 * KIB)
            parts.append(("p%d=" % len(parts)).ljust(size - 1, "a") + ("&" if left > size else "a"))
            left -= size
        return raw(["Host: 127.0.0.1", "X-Scope-OrgID: limits"], path + "".join(parts))
    assert ask(length) == 200 and ask(length + 1) == 414


def param(length):
    assert get("/api/v2/search/tags", unknown="a" * length).status == 200
    refuses(get("/api/v2/search/tags", unknown="a" * (length + 1)), 414, "unknown")


def body(_):
    refuses(server.post("/v1/traces", b"\x00" * (1 << 20), headers=ORG), 400)  # taken, and then read
    refuses(server.post("/v1/traces", b"\x00" * ((1 << 20) + 1), headers=ORG), 413, "limit")


def query(length):
    def ask(n):
        text = '{ name = "' + "a" * (n - len('{ name = "" }')) + '" }'
        return server.grpc_stream("/tempopb.StreamingQuerier/Search", field(8, text), headers=["x-scope-orgid: limits"],
                                  seconds=30)
    assert ask(length)[0] == 0
    status, text, _, _ = ask(length + 1)
    assert status == 3 and str(length) in urllib.parse.unquote(text), (status, text)


def nesting(depth):
    def value(n):
        v = field(1, "deep")
        for _ in range(n):
            v = field(5, field(1, v))
        return attribute(9, "k", v)
    before = cut("attributes")
    send(value(depth))
    assert cut("attributes") == before
    send(value(depth + 1))
    assert cut("attributes") == before + 1


def attrs(n):
    some = b"".join(attribute(9, f"k{i}", field(3, i)) for i in range(n))
    cuts("attributes", some, some + attribute(9, "more", field(3, 1)))


def events(n):
    one = field(11, fixed64(1, NOW * S) + field(2, "e"))
    cuts("events", one * n, one * (n + 1))


def links(n):
    one = field(13, field(1, os.urandom(16)) + field(2, os.urandom(8)))
    cuts("links", one * n, one * (n + 1))


def key(n):
    cuts("keys", attribute(9, "k" * n, field(3, 1)), attribute(9, "k" * (n + 1), field(3, 1)))


def value(n):
    cuts("values", attribute(9, "k", field(1, "v" * n)), attribute(9, "k", field(1, "v" * (n + 1))))


def name(n):
    cuts("names", b"", b"", name="n" * n)


def tenant(n):
    def ask(text):
        return server.get("/api/search", headers={"X-Scope-OrgID": text})
    assert ask("t" * n).status in (200, 404)
    refuses(ask("t" * (n + 1)), 400, str(n))


def metrics_range(seconds):
    def ask(n):
        return get("/api/metrics/query_range", q="{} | rate()", start=NOW - n, end=NOW, step="60s")
    assert ask(seconds).status == 200
    refuses(ask(seconds + 1), 400, "24h0m0s")


def deploys_range(seconds):
    def note(n):
        return json.loads(get("/api/v1/deploys", **{"from": NOW - n, "until": NOW}).text)["note"]
    assert "31 days" not in note(seconds), note(seconds)
    assert "31 days" in note(seconds + 1), note(seconds + 1)


def metrics_queries(n):
    def ask(n):
        return get("/api/metrics/query_range", q=" + ".join(["({} | rate())"] * n), start=NOW - 60, end=NOW, step="30s")
    assert ask(n).status == 200, ask(n).text
    refuses(ask(n + 1), 400, str(n))


def self_profile(seconds):
    refuses(server.get(f"/debug/pprof/profile?seconds={seconds + 1}", headers=ORG), 400, str(seconds))


def ingest(body, labels="", **params):
    query = urllib.parse.urlencode(dict({"name": "app" + labels}, **params))
    return server.post("/ingest?" + query, body, "application/octet-stream", headers=ORG)


def sample_types(n):
    def profile(n):
        strings = [""] + [f"t{i}" for i in range(n)] + ["count", "f"]
        out = b"".join(field(1, field(1, i + 1) + field(2, n + 1)) for i in range(n))
        out += field(2, packed(1, [1]) + packed(2, [5] * n)) + field(4, field(1, 1) + field(4, field(1, 1) + field(2, 7)))
        out += field(5, field(1, 1) + field(2, n + 2)) + field(9, (NOW - 20) * S) + field(10, 10 * S)
        return out + b"".join(field(6, s) for s in strings)
    assert ingest(profile(n)).status == 200
    refuses(ingest(profile(n + 1)), 422, f"more than {n} sample types")


def counts(what, at_most, one_more):
    before = cut(what)
    assert at_most().status == 200 and cut(what) == before
    assert one_more().status == 200 and cut(what) == before + 1, (what, before, cut(what))


def labels(n):
    def send_with(n):
        return lambda: ingest(b"a;b 1\n", "{" + ",".join(f"l{i}=v" for i in range(n)) + "}", format="folded")
    counts("labels", send_with(n), send_with(n + 1))


def stack_depth(n):
    def send_with(n):
        return lambda: ingest((";".join(f"f{i}" for i in range(n)) + " 3\n").encode(), format="folded")
    counts("stacks", send_with(n), send_with(n + 1))


def ratio(n):
    def send_with(length):
        """Folded text of that length, in a gzip file of a 200th of (4 MiB and 200 bytes): its header has a comment."""
        packed_text = zlib.compressobj(9, wbits=-15)
        text = b"a;b 1\n" + b" " * (length - 6)
        data = packed_text.compress(text) + packed_text.flush()
        tail = zlib.crc32(text).to_bytes(4, "little") + length.to_bytes(4, "little")
        comment = b"c" * (size - 10 - 1 - len(data) - 8) + b"\0"
        return wide.post("/ingest?name=ratio&format=folded", b"\x1f\x8b\x08\x10" + bytes(6) + comment + data + tail,
                         "application/octet-stream")
    size = (4 << 20) // n + 1
    with Server() as wide:
        assert send_with(size * n).status == 200
        refuses(send_with(size * n + 1), 422, f"inflates to more than {size * n} bytes")


def series(_):
    """Of one service; the configuration says 20."""
    def send_as(i):
        return ingest(b"a;b 1\n", "{pod=p%d}" % i, format="folded")
    for i in range(20):
        assert send_as(i).status == 200
    assert server.metric("spanflame_series_folded_total") == 0
    assert send_as(20).status == 200 and server.metric("spanflame_series_folded_total") == 1


def streams(n):
    """Requests whose bodies never come: the server says how many it takes, and refuses one more."""
    def frame(kind, flags, stream, payload):
        return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
    headers_block = b"\x83\x86\x04\x0a/v1/traces\x01\x09127.0.0.1\x0f\x10\x16application/x-protobuf"
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as s:
        s.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, b""))
        f = s.makefile("rb")

        def read():
            head = f.read(9)
            return head[3], int.from_bytes(head[5:9], "big"), f.read(int.from_bytes(head[:3], "big"))
        kind, _, settings = read()
        told = {int.from_bytes(settings[i:i + 2], "big"): int.from_bytes(settings[i + 2:i + 6], "big")
                for i in range(0, len(settings), 6)}
        assert kind == 4 and told[3] == n, told
        s.sendall(b"".join(frame(1, 4, 2 * i + 1, headers_block) for i in range(n + 1)))
        while True:
            kind, stream, payload = read()
            if kind == 3:  # RST_STREAM: REFUSED_STREAM
                assert stream == 2 * n + 1 and payload == b"\0\0\0\7", (stream, payload)
                break


RULES = "/settings.v1.RecordingRulesService/UpsertRecordingRule"


def letters(i):
    return "rule" + "abcdefghij"[i // 100] + "abcdefghij"[i // 10 % 10] + "abcdefghij"[i % 10]


def upsert(tenant_name, i, more=""):
    body = {"id": letters(i), "metricName": f"profiles_recorded_{i}",
            "matchers": ['{__profile_type__="process_cpu:cpu:nanoseconds:cpu:nanoseconds"}', '{pod=~"%s"}' % more] if more else
            ['{__profile_type__="process_cpu:cpu:nanoseconds:cpu:nanoseconds"}']}
    return server.post(RULES, json.dumps(body), "application/json", headers={"X-Scope-OrgID": tenant_name})


def tenant_rules(n):
    for i in range(n):
        answer = upsert("rules", i)
        assert answer.status == 200, answer.text
    refuses(upsert("rules", n), 429, str(n))


def rules_text(n):
    """Of all tenants, who have no room left together; what one deletes others can use."""
    made, pods = [], "|".join(f"pod{k}" for k in range(7500))
    for i in range(n // len(pods) + 1):
        answer = upsert(f"long{i // 20}", i, pods)
        if answer.status != 200:
            break
        made.append(i)
    refuses(answer, 429, str(n))
    assert n - 2 * len(pods) < len(made) * len(pods) <= n, len(made)
    for i in made:
        answer = server.post(RULES.replace("Upsert", "Delete"), json.dumps({"id": letters(i)}), "application/json",
                             headers={"X-Scope-OrgID": f"long{i // 20}"})
        assert answer.status == 200, answer.text


def keep(name, value, who="settings", method="Set"):
    body = {"setting": {"name": name, "value": value}} if method == "Set" else {"name": name}
    return server.post("/settings.v1.SettingsService/" + method, json.dumps(body), "application/json", headers={"X-Scope-OrgID": who})


def settings(n):
    """Half of one tenant: the other half is for others."""
    for i in range(N_KEPT, n // 2):
        assert keep(f"n{i}", "v").status == 200, i
    refuses(keep("more", "v"), 429, str(n // 2))
    assert keep("n0", "w").status == 200 and keep("more", "v", "others").status == 200


def setting(n):
    assert keep("long", "v" * n, "one").status == 200
    refuses(keep("long", "v" * (n + 1), "one"), 400, str(n))


def settings_text(n):
    """Half of one tenant; less than before always fits."""
    each = 65536
    for i in range(n // 2 // each - 1):
        assert keep(f"n{i}", "v" * each, "long").status == 200, i
    refuses(keep("more", "v" * each, "long"), 429, str(n // 2))
    assert keep("n0", "v", "long").status == 200 and keep("more", "v" * each, "long").status == 200


def control(method, path, body=None, name="limits"):
    return server.request(method, path, body, {"Content-Type": "application/json", "X-Scope-OrgID": name})


def control_body(n):
    def put(length):
        return control("PUT", "/api/v1/profiling?service=x", b'{"enabled": true' + b" " * (length - 17) + b"}")
    assert put(n).status == 200, put(n).text
    refuses(put(n + 1), 413, str(n))


def captures(n):
    """A quarter of one tenant, and all together."""
    def begin(who):
        return control("POST", "/api/v1/profiling/capture?service=s&instance=i&seconds=600&wait=false", name=who)
    def poll(who):
        assert control("GET", "/api/v1/control?service=s&instance=i", name=who).status == 200
    for who in ("capture0", "capture1", "capture2", "capture3"):
        poll(who)
        for _ in range(n // 4):
            answer = begin(who)
            assert answer.status in (200, 202), answer.text
        refuses(begin(who), 429, "captures are under way")
    poll("one_more")
    refuses(begin("one_more"), 429, f"{n} captures")


def capture_s(n):
    def begin(seconds):
        return control("POST", f"/api/v1/profiling/capture?service=s&instance=i&seconds={seconds}&wait=false", name="capture_s")
    assert begin(n).status != 400, begin(n).text
    refuses(begin(n + 1), 400, f"1 to {n}")


def collectors(n):
    """Half of one tenant; one more is answered, and not remembered."""
    half = n // 2
    conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for i in range(half + 1):
        conn.request("GET", f"/api/v1/control?service=s&instance=i{i}&agent=a", headers=ORG)
        answer = conn.getresponse()
        answer.read()
        assert answer.status == 200
        if i >= half - 1:
            told = json.loads(server.get("/api/v1/collectors?service=s", headers=ORG).body)["collectors"]
            assert len(told) == half and (f"i{i}" in {c["instance"] for c in told}) == (i < half), (i, len(told))
    conn.close()


def symbol_file(_):
    """The configuration says 64 KiB."""
    def put(length):
        return server.request("PUT", "/api/v1/symbols/" + "ab" * 20, b"\x7fELF" + bytes(length - 4),
                              {"Content-Type": "application/octet-stream", "X-Scope-OrgID": "limits"})
    assert put(64 * KIB).status == 400, put(64 * KIB).text  # read, and no debug file
    refuses(put(64 * KIB + 1), 413)


def pinned(path, **params):
    """A pin of a trace that is there."""
    span = make_span(name="pin")
    server.send([span], headers=ORG)
    return server.post(f"/api/v1/pins/{span['trace_id'].hex()}?" + urllib.parse.urlencode(params), b"{}", "application/json", ORG)


def pin_days(days):
    assert pinned("", **{"for": f"{days}d"}).status == 200
    refuses(pinned("", **{"for": f"{days * 86400 + 1}s"}), 400, str(days))


def pin_note(length):
    assert pinned("", note="n" * length).status == 200
    refuses(pinned("", note="n" * (length + 1)), 400, str(length))


def keep_services(n):
    def check(items):
        text = "profiling:\n  conditional:\n    rules:\n" + "".join(f"      - service=s{i} baseline=5%\n" for i in range(items))
        return subprocess.run([PROGRAM, "check-config", "--config", "/dev/stdin"], input=text, capture_output=True, text=True, timeout=60)
    assert check(n).returncode == 0, check(n)
    done = check(n + 1)
    assert done.returncode == 1 and str(n) in done.stderr, done


CASES = {"pin days": pin_days, "pin note": pin_note, "keep services": keep_services, "ratio": ratio, "series": series, "streams": streams, "tenant rules": tenant_rules,
         "rules text": rules_text, "settings": settings, "setting": setting, "settings text": settings_text,
         "control body": control_body, "captures": captures, "capture s": capture_s, "collectors": collectors, "symbol file": symbol_file,
         "headers": headers, "header": header, "target": target, "param": param, "body": body, "query": query, "nesting": nesting,
         "attrs": attrs, "events": events, "links": links, "key": key, "value": value, "name": name, "tenant": tenant,
         "metrics range s": metrics_range, "deploys range s": deploys_range, "metrics queries": metrics_queries, "self profile s": self_profile,
         "sample types": sample_types, "labels": labels, "stack depth": stack_depth}

# Met in another test: a unit test that names the constant, or a flow that sends so much.
ELSEWHERE = {
    "link": "tests/unit/app/config_test.c", "source": "tests/flow/server_keys_flow.py",
    "source lines": "tests/flow/server_keys_flow.py", "source line": "tests/flow/server_keys_flow.py",
    "body memory": "tests/unit/listen/body_test.c", "spool": "tests/unit/listen/body_test.c",
    "h2 control": "tests/unit/http/h2_session_test.c", "json depth": "tests/unit/wire/json_test.c",
    "spans": "tests/unit/decode/otlp_trace_pb_test.c", "frames": "tests/unit/decode/folded_test.c",
    "ingest queue": "tests/unit/serve/large_turn_test.c", "spans wait time": "tests/unit/serve/ingest_wait_test.c",
    "profiles wait time": "tests/unit/serve/ingest_wait_test.c", "meter halves": "tests/unit/meter/service_graph_test.c",
    "symbol modules": "tests/unit/symbol/name_cache_test.c",
    "alert rules": "tests/unit/alert/alert_rule_test.c", "alert labels": "tests/unit/alert/alert_rule_test.c",
    "alert text": "tests/unit/alert/alert_rule_test.c", "alert receivers": "tests/unit/alert/alert_rule_test.c",
    "alert series": "tests/unit/alert/alert_book_test.c", "alert moments": "tests/flow/alerts_flow.py", "alert windows": "tests/flow/alerts_flow.py",
    "alert pins": "tests/flow/alerts_flow.py", "alert pin days": "tests/flow/alerts_flow.py",
    "deploys": "tests/unit/serve/deploy_book_test.c", "deploy text": "tests/unit/serve/deploy_book_test.c",
    "deploy body": "tests/flow/alert_kinds_flow.py",
    "watch tenants": "tests/unit/serve/alert_tenants_test.c", "watch services": "tests/flow/watch_flow.py",
    "alert history": "tests/unit/alert/silence_book_test.c", "silences": "tests/unit/alert/silence_book_test.c",
    "silence matchers": "tests/unit/alert/silence_book_test.c", "silence patterns": "tests/unit/alert/silence_book_test.c", "silence text": "tests/unit/alert/silence_book_test.c",
    "silence days": "tests/unit/alert/silence_book_test.c", "silence body": "tests/flow/alerts_flow.py",
    "scrape jobs": "tests/unit/scrape/scrape_job_test.c", "scrape static": "tests/unit/scrape/scrape_job_test.c",
    "scrape at once": "tests/unit/scrape/scrape_job_test.c", "scrape body": "tests/flow/scrape_flow.py",
    "scrape targets": "tests/unit/scrape/target_list_test.c", "scrape labels": "tests/unit/scrape/relabel_test.c",
    "scrape text": "tests/unit/scrape/relabel_test.c", "scrape sources": "tests/unit/scrape/relabel_test.c",
    "scrape sd": "tests/flow/scrape_flow.py",
    "overrides": "tests/unit/app/overrides_test.c", "override names": "tests/unit/app/overrides_test.c",
    "quota tenants": "tests/unit/intake/quota_test.c", "quota services": "tests/unit/intake/quota_test.c",
    "samples": "tests/unit/decode/pprof_test.c", "sample labels": "tests/unit/decode/pprof_test.c",
    "line": "tests/unit/decode/folded_test.c", "meter series": "tests/unit/meter/span_metrics_test.c",
    "meter edges": "tests/unit/meter/service_graph_test.c", "meter waiting": "tests/unit/meter/service_graph_test.c",
    "meter targets": "tests/unit/meter/target_info_test.c", "rule series": "tests/unit/serve/recording_totals_test.c",
    "rules series": "tests/unit/serve/recording_totals_test.c", "control docs": "tests/unit/serve/control_set_test.c",
    "control changes": "tests/unit/serve/control_set_test.c", "adhoc files": "tests/flow/adhoc_flow.py",
    "adhoc": "tests/flow/adhoc_flow.py", "pins": "tests/unit/store/keep_test.c",
    "partial": "tests/unit/store/partials_test.c", "partial questions": "tests/unit/store/partials_test.c",
    "rule sets": "tests/unit/store/keep_test.c", "verdict traces": "tests/flow/keep_limits_flow.py",
    "verdict spans": "tests/flow/keep_limits_flow.py",
    "connections": "tests/flow/hostile_flow.py", "inflated": "tests/flow/hostile_flow.py", "answers": "tests/flow/hostile_flow.py",
    "header timeout": "tests/flow/hostile_flow.py", "body timeout": "tests/flow/hostile_flow.py",
    "h2 resets": "tests/flow/hostile_flow.py", "memory": "tests/flow/memory_budget_flow.py",
    "large body": "tests/flow/memory_budget_flow.py", "client queries": "tests/flow/lanes_flow.py",
    "query memory": "tests/flow/large_trace_flow.py", "query time": "tests/flow/hostile_query_flow.py",
    "metrics steps": "tests/flow/hostile_query_flow.py", "metrics series": "tests/flow/hostile_query_flow.py",
    "metrics samples": "tests/flow/hostile_query_flow.py", "mcp body": "tests/flow/mcp_flow.py", "mcp text": "tests/flow/mcp_flow.py"}

# Nothing that a client sends meets it: how the server works inside.
INSIDE = {
    "watch operations": "requests of further names count for their service alone",
    "arena": "address space; bodies are limited before", "record": "pieces are cut to fit", "logged body": "chooses the form of a record",
    "logged batch": "pieces are cut to fit", "segment": "the log goes on in the next", "granule rows": "how rows are stored",
    "ratio floor": "a part of ratio", "search slack s": "how far a search looks", "meter stale time": "time passes", "meter slack time": "time passes",
    "meter wait time": "time passes", "symbol wait time": "time passes", "symbol fetch time": "time passes", "symbol absent s": "time passes",
    "symbol retry s": "time passes", "symbol names": "a cache", "symbol module": "a cache", "symbol addresses": "lookups are cut into parts",
    "total timeout": "time passes", "scrape per host": "how requests of our own are spread", "scrape kept": "a cache of totals",
    "scrape flight": "answers to requests of our own; one above it fails for itself",
    "ship rows": "a batch for ClickHouse ends, the next begins", "ship batch": "likewise", "ship held": "likewise", "ship table": "likewise", "ship known": "a cache",
    "ship age days": "chooses a partition (ship_rows_test.c)", "ship set aside": "what ClickHouse refused; no client fills it"}

# Met by no test exactly, and why. A limit that is new does not belong here: give it a case.
OPEN = {
    "stream": "what one request counts for; flood_test.c has more of them than there is room for",
    "connection": "a thousand connections at 64 MiB: flood_flow.py, in the long form, opens fewer than are refused",
    "bodies": "a sum over connections: bodies above it move to files, whose answers are the same (body_test.c)",
    "late": "512 MiB of parts of answers that wait for slow clients (large_trace_flow.py has some that do)",
    "query queue": "a client has fewer (client queries); lane_test.c has lanes that are full at fewer",
    "rules": "forty tenants with all of theirs: a file that is written a thousand times",
    "trie work": "characters of paths inside the decoder: 256 million of them cost a CPU-second",
    "meter waiting names": "bytes as they are kept; service_graph_test.c meets it to a hundredth",
    "control waits": "a thousand connections that wait; above it a poll is answered, only sooner",
    "control wait s": "a longer wait is cut to it: a poll of a minute",
    "findings services": "no case yet",
    "idle timeout": "time passes", "symbol inflated": "96 MiB of debug information: elf_inflate_test.c has less"}


def documented():
    """{name: value} of docs/limits.md."""
    with open(os.path.join(ROOT, "docs", "limits.md"), encoding="utf-8") as f:
        rows = re.findall(r"^\| ([a-z0-9 ]+) \| ([0-9,]+) ?([A-Za-z]*) \|", f.read(), re.M)
    units = {"KiB": KIB, "MiB": KIB * KIB}
    return {row: int(number.replace(",", "")) * units.get(unit, 1) for row, number, unit in rows}


def test_every_limit_has_a_case_or_a_reason():
    lists = (set(CASES), set(ELSEWHERE), set(INSIDE), set(OPEN))
    known = set().union(*lists)
    assert sum(map(len, lists)) == len(known), "a limit is in two lists"
    assert known == set(documented()), known ^ set(documented())
    for limit, path in ELSEWHERE.items():
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            text = f.read()
        assert path.endswith(".py") or "SF_LIMIT_" + limit.upper().replace(" ", "_").replace("_TIME", "_MS") in text, (limit, path)


for limit in CASES:
    globals()["test_" + limit.replace(" ", "_") + "_is_reached"] = (lambda of: lambda: CASES[of](documented()[of]))(limit)

if __name__ == "__main__":
    tap.run(sys.modules[__name__])
