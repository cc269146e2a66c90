#!/usr/bin/env python3
"""Smaller holes, each with the attack as first seen."""
import gzip
import json
import os
import re
import stat
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import JSON, PROGRAM, Server, field, make_span, span_message, tap  # noqa: E402

server = Server().start()
PUSH = "/push.v1.PusherService/Push"


def test_files_are_for_their_owner_only():
    with Server() as s:
        s.send([make_span()])
        s.stop()
        shared = os.path.join(s.data, "meta.db")
        os.chmod(shared, 0o644)  # as servers before left it
        s.start()
        s.send([make_span()])
        for folder, _, names in os.walk(s.data):
            for name in names:
                mode = stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode)
                assert mode & 0o077 == 0, (name, oct(mode))


def test_tls_12_without_rsa_key_exchange_and_cbc():
    s = Server("listen:\n  - address: 127.0.0.1:PORT\n    tls: {cert: HOME/crt, key: HOME/key}\n", has_listen=False, wait=False)
    s.config = s.config.replace("PORT", str(s.port))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", s.home + "/key", "-out",
                    s.home + "/crt", "-days", "2", "-subj", "/CN=localhost"], check=True, capture_output=True)
    with s:
        def speaks(ciphers, version="-tls1_2"):
            for _ in range(100):
                done = subprocess.run(["openssl", "s_client", version, "-connect", f"127.0.0.1:{s.port}",
                                       *(["-cipher", ciphers] if ciphers else [])], input=b"", capture_output=True,
                                      timeout=20, check=False)
                if b"refused" not in done.stderr:
                    return done.returncode == 0
            raise AssertionError("no server")
        assert speaks("ECDHE-RSA-AES128-GCM-SHA256") and speaks("ECDHE-RSA-CHACHA20-POLY1305")
        assert speaks("", "-tls1_3")
        for weak in ("AES128-GCM-SHA256", "AES256-SHA256", "AES128-SHA", "ECDHE-RSA-AES128-SHA256", "ECDHE-RSA-AES256-SHA"):
            assert not speaks(weak + ":@SECLEVEL=0"), weak


def test_no_answer_is_sniffed():
    server.post("/api/v1/profile?service=sniffed&type=cpu", b"<script>alert(1)</script>;work 7\n", "text/plain")
    for form in ("folded", "flamegraph", "json", "speedscope", "svg", "pprof", "dot", "otlp"):
        answer = server.get(f"/api/v1/profile?app=sniffed&format={form}")
        assert answer.headers["X-Content-Type-Options"] == "nosniff", (form, answer.status)
    for path in ("/", "/ready", "/metrics", "/nothing", "/api/search?q=%7B", "/pyroscope/render?query=x&format=dot"):
        assert server.get(path).headers["X-Content-Type-Options"] == "nosniff", path
    code, head, _ = server.curl("--http2-prior-knowledge", path="/metrics")
    assert code == 0 and "nosniff" in head, head


def test_one_deep_attribute_costs_only_itself():
    value = field(1, "end")
    for _ in range(33):
        value = field(5, field(1, value))
    span = make_span()
    body = span_message(span) + field(9, field(1, "deep") + field(2, value)) + field(9, field(1, "flat") + field(2, field(1, "kept")))
    answer = server.post("/v1/traces", field(1, field(2, field(2, body))))
    assert answer.status == 200 and b"1 attribute dropped" in answer.body, (answer.status, answer.text)
    found = server.json("/api/v1/trace/" + span["trace_id"].hex())["spans"][0]
    assert [a["key"] for a in found["attributes"]] == ["flat"], found


def test_a_form_without_a_profile_is_told_so():
    body = b'--x\r\nContent-Disposition: form-data; name="profil"; filename="p"\r\n\r\n' + pprof({("main;a", ()): 1}) + b"\r\n--x--\r\n"
    answer = server.post("/ingest?name=form", body, "multipart/form-data; boundary=x")
    assert answer.status == 422 and "profile is missing" in answer.text, (answer.status, answer.text)
    answer = server.post("/ingest?name=form", body.replace(b'"profil"', b'"profile"'), "multipart/form-data; boundary=x")
    assert answer.status == 200, answer.text


def test_a_body_that_is_too_large_is_not_to_be_sent_again():
    """Connect calls besides Push answer with no status that asks for a retry, either."""
    bomb, long = gzip.compress(bytes(80 << 20), 1), b'{"setting":{"name":"a","value":"' + b"x" * 200000 + b'"}}'
    for path, body, headers in (("/adhocprofiles.v1.AdHocProfileService/Upload", bomb, {"Content-Encoding": "gzip"}),
                                ("/querier.v1.QuerierService/ProfileTypes", bomb, {"Content-Encoding": "gzip"}),
                                ("/settings.v1.SettingsService/Set", long, {}),
                                ("/settings.v1.RecordingRulesService/UpsertRecordingRule", bomb, {"Content-Encoding": "gzip"})):
        answer = server.post(path, body, "application/json", headers)
        assert answer.status == 400 and json.loads(answer.body)["code"] == "invalid_argument", (path, answer.status, answer.text)
        assert "Retry-After" not in answer.headers


def test_a_bomb_over_push_is_not_to_be_sent_again():
    bomb = gzip.compress(bytes(80 << 20), 1)
    for body, headers in ((bomb, {"Content-Encoding": "gzip"}),
                          (field(1, field(2, field(1, bomb))), {})):
        for _ in range(20):
            answer = server.post(PUSH, body, "application/proto", headers)
            if answer.status != 503:
                break
        assert answer.status == 400 and json.loads(answer.body)["code"] == "invalid_argument", (answer.status, answer.text)
        assert "Retry-After" not in answer.headers
    assert server.grpc(PUSH, field(1, field(2, field(1, bomb))))[0] == 3
    answer = server.request("POST", PUSH, None, {"Content-Type": "application/proto", "Content-Length": str(65 << 20)})
    assert answer.status == 400 and json.loads(answer.body)["code"] == "invalid_argument", (answer.status, answer.text)


def test_exports_do_not_turn_lines_around():
    name = "safe\u202eevil\u2066x\u200f\u061c"
    answer = server.post("/api/v1/profile?service=bidi&type=cpu", f"{name};ende 7\n".encode(), "text/plain")
    assert answer.status == 200, answer.text
    for form in ("folded", "speedscope"):
        text = server.get(f"/api/v1/profile?app=bidi&format={form}").text
        assert "safe?evil?x??" in text, (form, text)
        assert not any(c in text for c in "\u202e\u2066\u200f\u061c"), form


def test_a_frame_shorter_than_it_says():
    frame = bytes.fromhex("28b52ffd605817010000")
    answer = server.post("/v1/traces", frame, JSON, {"Content-Encoding": "zstd"})
    assert answer.status == 400 and "damaged" in answer.text, (answer.status, answer.text)


EVIL = "x\x1b]0;owned\x07\x1b[2J\r\u202e\u2066\U000e0041\x9b31m\ny"
ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")


ANY_ALERT = "alerts:\n  interval: 1s\n  rules:\n    - {name: any, traceql: '{ } | rate() by (name)', above: 0, for: 0s}\n"


def send_hostile(s):
    """Telemetry with names that act on a terminal; what is asked about it."""
    old = make_span(service=EVIL, name=EVIL, ago_ms=3600000, resource={"service.version": EVIL + "1"})
    new = make_span(service=EVIL, name=EVIL, ago_ms=5000, ms=900, attributes={EVIL: EVIL}, resource={"service.version": EVIL + "2"})
    s.send([old])
    s.send([new, make_span(new["trace_id"], new["span_id"], ago_ms=5100, ms=500, service=EVIL + "b", name=EVIL)])
    s.send([make_span(service=EVIL, name=EVIL, ago_ms=4000 + i, ms=10 + i, resource={"service.version": EVIL + "2"}) for i in range(30)])
    span, trace, name = new["span_id"].hex(), new["trace_id"].hex(), urllib.parse.quote(EVIL)
    stacks = {(f"{EVIL.replace(chr(10), ' ')};work", (("span_id", span), ("evil", EVIL))): 400000000}
    assert s.post(f"/api/v1/profile?service={name}", pprof(stacks)).status == 200
    assert s.post("/api/v1/deploys", json.dumps({"service": EVIL, "version": EVIL + "3", "comment": EVIL}), JSON).status == 200
    assert s.post(f"/api/v1/pins/{trace}?note={name}", b"", JSON).status == 200
    poll = urllib.parse.quote("c\u202e\x9b")
    assert s.get(f"/api/v1/control?service={poll}&instance={poll}&host={name}&problem={name}&agent={name}").status == 200
    assert s.post(f"/api/v1/profiling?service={poll}", b'{"enabled": true}', JSON).status == 200
    return span, trace, name


def test_text_for_a_terminal_holds_nothing_that_a_terminal_acts_on():
    """Versions, comments, notes and labels of alerts reached it as they were sent."""
    with Server(ANY_ALERT) as s:
        span, trace, name = send_hostile(s)
        for _ in range(100):
            if "firing" in s.get("/api/v1/alerts?format=text").text:
                break
            time.sleep(0.1)
        asked = [f"/api/v1/{path}" for path in (
            "deploys?format=text&from=now-3h", "alerts?format=text", "alerts/test?rule=any&format=text&from=now-2m", "targets?format=text",
            "pins?format=text", f"keep/{trace}?format=text", "keep?format=text", "collectors?format=text", "profiling/audit?format=text",
            f"coverage?format=text&service={name}", f"findings?format=text&service={name}", f"frames/spans?format=text&function=work",
            f"compare?format=text&q=%7B%7D&from=now-10m", f"explain?format=text&trace={trace}", f"explain?format=text&trace={trace}&span={span}",
            f"explain?format=text&service={name}&version={name}2&against={name}1&from=now-3h", f"spans/{trace}/{span}/ledger?format=text",
            f"spans/{trace}/{span}/coverage?format=text", f"profile?span_id={span}&format=flamegraph")]
        n_hostile = 0
        for path in asked:
            answer = s.get(path)
            assert answer.status == 200, (path, answer.status, answer.text)
            assert not ACTING.search(answer.text), (path, ascii(answer.text))
            n_hostile += "]0;owned" in answer.text or "c?" in answer.text
        assert n_hostile >= 12, n_hostile
        told = [json.loads(s.get(f"/api/v1/explain?{more}").body)["evidence"]["command"] for more in (
            f"trace={trace}&focus={name}", f"service={name}&version={name}2&against={name}1&from=now-3h")]
        assert not ACTING.search("".join(told)) and "]0;owned" in told[1], told
        for words in (["services"], ["search", "{ }"], ["trace", trace], ["why", trace], ["why", span, "--trace", trace], ["ledger", span, "--trace", trace],
                      ["deploys", "--since", "3h"], ["alerts"], ["keep", "list"], ["control", "list"], ["tags"], ["tags", "resource.service.name"], ["findings", EVIL],
                      ["coverage", EVIL], ["spans-with", "work"], ["flame", "--span", span], ["top", "--span", span], ["labels"], ["labels", "evil"],
                      ["metrics", "{ } | rate() by (name)"]):
            done = subprocess.run([PROGRAM, *words, "--server", f"http://127.0.0.1:{s.port}"], capture_output=True, text=True, timeout=60, check=False)
            assert not ACTING.search(done.stdout + done.stderr), (words, ascii(done.stdout + done.stderr))
            n_hostile += "]0;owned" in done.stdout
        assert n_hostile >= 28, n_hostile


tap.run(sys.modules[__name__])
