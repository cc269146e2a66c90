#!/usr/bin/env python3
"""Secrets planted in every place, sent by every door, are in no file of the data directory, at no moment, and in no log."""
import gzip
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from server import (JSON, PB, TRACE_METHOD, Server, attribute, field, fixed64, tap)  # noqa: E402

serial = itertools.count()
planted = []  # everything that must never be seen again


def secret(shape="word"):
    """A text that occurs nowhere else. `word`: a secret only by its key; the others by their look."""
    core = f"Hunter{next(serial):04d}" + os.urandom(6).hex()
    text = {"word": core, "github": "ghp_" + core + "Zz" * 8, "aws": "AKIA7Q" + os.urandom(7).hex().upper(),
            }.get(shape, core)
    planted.append(text)
    return SHAPES.get(shape, "{}").format(text)


SHAPES = {"pair": "login failed, password={}; retry", "url": "https://joe:{}@db.example/x",
          "flag": "backup --password {} now", "mysql": "docker exec db mysql -uroot -p{} shop", "curl": "curl -s -u joe:{} https://h/",
          "curl flags": "curl -sSu joe:{} https://h/", "sql": "ALTER USER joe IDENTIFIED BY '{}'",
          "sql set": "SET PASSWORD FOR 'joe'@'%' = PASSWORD('{}')", "slack flow": "https://hooks.slack.com/triggers/T0000ABCD/123456789012/{}",
          "slack": "https://hooks.slack.com/services/T0000ABCD/B0000ABCD/{}",
          "discord": "/api/webhooks/123456789012345678/{}", "signed": "https://b/x?X-Amz-Signature={}&y=1",
          "element": "<a><ns:password>{}</ns:password></a>", "tab": "password:\t{}",
          "value": '{{"name":"password","value":"{}"}}',
          "vault": "hvs.{}", "sendgrid": "SG.abcdefghijklmnopqrstuv.{}", "pair key": "password={}"}
MORE_SHAPES = [shape for shape in SHAPES if shape not in ("pair", "url", "pair key")]


def kv(key, text):
    return field(1, key) + field(2, field(1, text))


def secret_attributes(number):
    """Attributes as a span, event, link, scope or resource has them: field `number` of the message."""
    deep = field(5, field(1, field(6, field(1, kv("inner.secret", secret()) + b""))))  # array > map > secret
    in_map = field(6, field(1, kv("userPassword", secret())) + field(1, kv("note", secret("pair"))))
    out = b"".join(field(number, kv(key, secret())) for key in ("db.password", "AuthToken", "x-api-key", "client_secret"))
    out += b"".join(field(number, kv(key, secret(shape))) for key, shape in
                    (("note", "github"), ("who", "aws"), ("message", "pair"), ("peer", "url")))
    out += field(number, field(1, secret("github")) + field(2, field(1, "its key is the secret")))
    out += field(number, kv(secret("pair key"), "a pair in the key"))
    out += b"".join(field(number, kv("note." + shape, secret(shape))) for shape in MORE_SHAPES)
    words = b"".join(field(1, field(1, word)) for word in ("mysql", "-uroot", "-p" + secret(), "--token", secret()))
    out += field(number, field(1, "process.command_args") + field(2, field(5, words)))
    out += field(number, field(1, "list") + field(2, deep)) + field(number, field(1, "map") + field(2, in_map))
    raw = secret("github")
    out += field(number, field(1, "raw") + field(2, field(7, raw.encode())))
    out += field(number, field(1, "session.cookie") + field(2, field(7, secret().encode())))
    return out


def request(trace, unknown=True):
    """OTLP with a secret in each place that holds text."""
    now = time.time_ns()
    event = fixed64(1, now) + field(2, "event " + secret("pair")) + secret_attributes(3)
    link = field(1, os.urandom(16)) + field(2, os.urandom(8)) + field(3, "k=" + secret("github")) + secret_attributes(4)
    status = field(2, "failed: " + secret("url")) + field(3, 2)
    span = (field(1, trace) + field(2, os.urandom(8)) + field(3, "vendor=" + secret("github")) + field(5, "GET " + secret("url"))
            + field(6, 2) + fixed64(7, now - 10**6) + fixed64(8, now) + secret_attributes(9) + field(11, event)
            + field(13, link) + field(15, status))
    broken = (field(1, b"short") + field(2, b"id") + field(5, "refused " + secret("pair")) + secret_attributes(9))
    scope = field(1, "scope " + secret("github")) + field(2, secret("aws")) + secret_attributes(3)
    if unknown:  # fields nobody has heard of
        span += field(900, secret())
        scope += field(901, secret())
    resource = attribute(1, "service.name", "shop") + secret_attributes(1)
    scope_spans = field(1, scope) + field(2, span) + field(2, broken) + field(3, "https://x/?token=" + secret("github"))
    return field(1, field(1, resource) + field(2, scope_spans) + field(3, "https://y/?token=" + secret("github"))
                 + (field(902, secret()) if unknown else b""))


def json_request(trace):
    now = time.time_ns()

    def attrs():
        return ([{"key": k, "value": {"stringValue": secret()}} for k in ("db.password", "AuthToken")]
                + [{"key": "note", "value": {"stringValue": secret("github")}},
                   {"key": "escaped", "value": {"stringValue": secret("pair")}},
                   {"key": "map", "value": {"kvlistValue": {"values": [
                       {"key": "secret", "value": {"arrayValue": {"values": [{"stringValue": secret()}]}}}]}}}])
    return json.dumps({"unheardOf": secret(), "resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}] + attrs(), "odd": secret()},
        "scopeSpans": [{"scope": {"name": "s " + secret("github"), "attributes": attrs()}, "spans": [
            {"traceId": trace.hex(), "spanId": os.urandom(8).hex(), "name": "GET " + secret("url"),
             "traceState": "v=" + secret("github"), "startTimeUnixNano": str(now - 1000), "endTimeUnixNano": str(now),
             "attributes": attrs(), "odd": {"a": [secret()]}, "status": {"code": 2, "message": secret("pair")},
             "events": [{"name": "e " + secret("pair"), "timeUnixNano": str(now), "attributes": attrs()}],
             "links": [{"traceId": os.urandom(16).hex(), "spanId": os.urandom(8).hex(), "attributes": attrs()}]},
            {"traceId": "12", "spanId": "34", "name": "refused " + secret("pair"), "attributes": attrs()}]}]}]}).encode()


def large(body, trace):
    """The same, too long for memory: it goes through the spool file and is logged in pieces."""
    filler = [field(2, field(1, trace) + field(2, os.urandom(8)) + field(5, "filler") + fixed64(7, 10**18) + fixed64(8, 10**18 + 1)
                    + attribute(9, "text", os.urandom(500).hex())) for _ in range(1200)]
    return body + field(1, field(2, b"".join(filler)))


def tell_what_is_kept(s, trace, ok):
    """What people and collectors send besides telemetry: deploys, notes, silences, documents, and what they are told of them."""
    def posted(path, body):
        ok(s.post(path, json.dumps(body).encode(), JSON))

    def quoted(shape):
        return urllib.parse.quote(secret(shape))
    posted("/api/v1/deploys", {"service": "shop " + secret("github"), "version": "1 " + secret("pair"), "commit": secret("github"),
                               "environment": secret("flag"), "comment": "with " + secret("sql"), "url": "https://ci/?token=" + secret("github")})
    posted(f"/api/v1/pins/{trace}?note={quoted('slack')}", {})
    posted("/api/v1/silences", {"matchers": [{"name": "alertname", "value": "slow"}], "duration": "2h", "comment": secret("curl"), "createdBy": secret("pair")})
    for matcher in ({"name": "note", "value": secret("github")}, {"name": "db.password", "value": secret()}, {"name": secret("pair key"), "value": "x"},
                    {"name": "note", "value": ".*" + secret("vault"), "isRegex": True}):
        answer = s.post("/api/v1/silences", json.dumps({"matchers": [matcher], "duration": "2h"}), JSON)
        assert answer.status == 400 and "secret" in answer.text, answer.text
        look_for_secrets([("refusal", answer.body)])
    rule = {"metricName": "profiles_recorded_x", "matchers": ['{service_name="shop"}', '{__profile_type__="process_cpu:cpu:nanoseconds:cpu:nanoseconds"}'],
            "groupBy": ["pod"], "externalLabels": [{"name": "db_password", "value": secret()}]}
    posted("/settings.v1.RecordingRulesService/UpsertRecordingRule", rule)
    for part in ({"matchers": rule["matchers"] + [f'{{note="{secret("github")}"}}']}, {"matchers": rule["matchers"] + [f'{{password="{secret()}"}}']},
                 {"matchers": rule["matchers"] + [f'{{note=~".*{secret("vault")}"}}']}, {"groupBy": [secret("github")]}):
        answer = s.post("/settings.v1.RecordingRulesService/UpsertRecordingRule", json.dumps({**rule, **part}), JSON)
        assert answer.status == 400, (part, answer.status, answer.text)
        look_for_secrets([("refusal", answer.body)])
    ok(s.get(f"/api/v1/control?service={quoted('github')}&instance={quoted('pair')}&host={quoted('url')}&agent={quoted('github')}&problem={quoted('url')}"))
    posted(f"/api/v1/profiling?service={quoted('github')}&instance={quoted('github')}", {"enabled": True})
    for path in ("/api/v1/deploys", "/api/v1/pins", "/api/v1/silences", "/api/v1/collectors", "/api/v1/profiling/audit", "/api/v1/profiling?service=*"):
        answer = s.get(path)
        ok(answer)
        assert "[REDACTED" in answer.text, (path, answer.text)


def send_by_every_door(s):
    """Trace ids."""
    traces = [os.urandom(16) for _ in range(9)]
    t = iter(traces)

    def ok(answer):
        assert answer.status == 200, (answer.status, answer.text)
        look_for_secrets([("answer", answer.body)])
    ok(s.post("/v1/traces", request(next(t))))
    ok(s.post("/v1/traces", request(next(t), unknown=False)))
    ok(s.post("/v1/traces", gzip.compress(request(next(t))), headers={"Content-Encoding": "gzip"}))
    ok(s.post("/v1/traces", json_request(next(t)), JSON))
    trace = next(t)
    ok(s.post("/v1/traces", large(request(trace), trace)))
    ok(s.request("POST", "/v1/traces", iter([request(next(t))]), {"Content-Type": PB}))  # in chunks
    code, header, _ = s.curl("--http2-prior-knowledge", "-H", f"content-type: {PB}", path="/v1/traces", data=request(next(t)))
    assert code == 0 and header.startswith("HTTP/2 200"), (code, header)
    assert s.grpc(TRACE_METHOD, request(next(t)))[0] == 0
    assert s.grpc(TRACE_METHOD, gzip.compress(request(next(t))), ["grpc-encoding: gzip"], compressed=True)[0] == 0
    stacks = f"main;login({secret('pair')});/srv/{secret('github')} 7\n"
    ok(s.post(f"/ingest?name=shop%7Bpassword%3D{secret()}%2Cnote%3D{secret('github')}%7D&format=folded", stacks.encode(), "text/plain"))
    ok(s.post("/settings.v1.SettingsService/Set", json.dumps({"setting": {"name": "auth_token", "value": secret()}}).encode(), JSON))
    ok(s.post("/settings.v1.SettingsService/Set",
              json.dumps({"setting": {"name": "view " + secret("pair"), "value": '{"a":"' + secret("flag") + '"}'}}).encode(), JSON))
    ok(s.post("/settings.v1.SettingsService/Get", b"{}", JSON))
    tell_what_is_kept(s, traces[0].hex(), ok)
    # What is refused as a whole must not end up in a log either.
    for body, kind in ((request(os.urandom(16))[:-3], PB), (json_request(os.urandom(16))[:-9], JSON)):
        answer = s.post("/v1/traces", body, kind)
        assert answer.status == 400, answer.status
        look_for_secrets([("refusal", answer.body)])
    s.get(f"/api/traces/zz?token={secret()}", {"Authorization": f"Bearer {secret()}", "Cookie": f"session={secret()}"})
    s.get(f"/no/such/path?password={secret()}")
    return traces


# Every planted text begins with one of these, as it is, in hexadecimal, or in two-byte letters.
MARKS = [form for mark in ("Hunter", "AKIA7Q") for form in
         (mark.encode(), mark.encode().hex().encode(), mark.encode("utf-16-le"))]


def look_for_secrets(texts):
    n = 0
    for name, data in texts:
        n += len(data)
        for mark in MARKS:
            at = data.find(mark)
            assert at < 0, f"{name} holds {data[at:at + 40]!r} at {at}"
    return n


def files_of(s):
    """Every file of the data directory, as it is and, where it is compressed in whole frames, unpacked."""
    for folder, _, names in os.walk(s.data):
        for name in names:
            path = os.path.join(folder, name)
            try:
                data = read_used(path)
            except FileNotFoundError:
                continue  # a compaction was faster
            yield path, data
            yield path + " unpacked", unpacked(data)


CHUNK = 1 << 20


def read_used(path):
    """A file without the zeros at its end: slots of the log have 64 MiB, nearly all of it room kept for later."""
    zeros, chunk, used, n_zero = bytes(CHUNK), bytearray(CHUNK), [], 0
    with open(path, "rb", buffering=0) as f:
        while n := f.readinto(chunk):
            if n == CHUNK and chunk == zeros:
                n_zero += 1
                continue
            used += [zeros] * n_zero + [bytes(chunk[:n])]
            n_zero = 0
    return b"".join(used).rstrip(b"\0")


frames = {}  # what was unpacked before: files stay as they are between two searches


def unpacked(data):
    """What zstd frames anywhere in a file hold."""
    out, at = [], 0
    while HAS_ZSTD and (at := data.find(b"\x28\xb5\x2f\xfd", at)) >= 0:
        packed = data[at:at + 300000]
        if packed not in frames:
            # Garbage behind the frame makes the program fail, after it has written what it could read.
            frames[packed] = subprocess.run(["zstd", "-dcq", "--no-check"], input=packed, capture_output=True, check=False).stdout
        out.append(frames[packed])
        at += 4
    return b"\n".join(out)


def has_zstd():
    try:
        return subprocess.run(["zstd", "-V"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


HAS_ZSTD = has_zstd()


def nowhere(s, when):
    n = look_for_secrets(files_of(s))
    look_for_secrets([("the log", s.log().encode())])
    print(f"# {when}: none of {len(planted)} secrets in {n} bytes of files{'' if HAS_ZSTD else ' (no zstd here: as they are only)'}")
    assert n > 10000, "there is nothing to look at"


def redacted(s, traces):
    for trace in traces:
        for path in ("/api/traces/", "/api/v2/traces/", "/api/v1/trace/"):
            answer = s.get(path + trace.hex())
            assert answer.status == 200 and b"[REDACTED" in answer.body, (path, answer.status)
            look_for_secrets([(path, answer.body)])
    look_for_secrets([("/metrics", s.metrics().encode()), ("services", s.get("/api/v1/services").body)])


def story(config="", is_brief=False):
    """`is_brief`: what restarts and merges do is known from a story before; the log and the blocks are looked at."""
    s = Server(config, ["--set", "log.level=debug"])
    if "hash_key_file" in config:
        with open(os.path.join(s.home, "key"), "wb") as f:
            f.write(os.urandom(32))
        os.chmod(f.name, 0o600)
    with s:
        traces = send_by_every_door(s)
        nowhere(s, "in the log of the store")
        if not is_brief:
            redacted(s, traces)
            s.stop(signal.SIGKILL)
            nowhere(s, "after kill -9")
            s.start()
            redacted(s, traces)
            traces += send_by_every_door(s)
        s.stop(signal.SIGKILL)
        s.start()
        assert s.post("/api/v1/flush", b"", "application/json").status == 200
        nowhere(s, "in blocks")
        redacted(s, traces)
        assert s.stop() == 0
        nowhere(s, "after an orderly stop")


def test_nothing_planted_is_in_a_file_or_a_log():
    story()


def test_nothing_planted_is_there_with_keyed_hashes():
    story("redact:\n  replace: hash\n  hash_key_file: HOME/key\n", is_brief=float(os.environ.get("CHECK_SCALE", "1")) < 1)


def test_the_same_search_finds_them_when_redaction_is_off():
    with Server("redact:\n  enabled: false\n") as s:
        planted.clear()
        assert s.post("/v1/traces", request(os.urandom(16))).status == 200
        files = list(files_of(s))
        missed = [text for text in planted if not any(text.encode() in data for _, data in files)]
        print(f"# without redaction {len(planted) - len(missed)} of {len(planted)} are found in the files")
        assert len(missed) < len(planted) / 2, (len(missed), len(planted))


CORPUS = os.path.join(os.path.dirname(__file__), "..", "corpus")
# One folder a format, as the fuzzer has them; the tree of Pyroscope cannot be told from other bytes.
FORMATS = {name: "" for name in ("async_html", "async_text", "austin", "flame_svg", "folded", "gecko", "jfr", "legacy_cpu",
                                 "legacy_text", "mojo", "otlp_profile", "perf_data", "perf_script", "pprof", "pprof_raw",
                                 "pprof_traces", "speedscope", "stackprof", "trace_event", "v8_cpuprofile", "v8_heapprofile")}
FORMATS["pyroscope_tree"] = "tree"


def dry_run(path, *more):
    said = subprocess.run([os.environ["SPANFLAME"], "redact", "--dry-run", path, "--output", "json", *more],
                          capture_output=True, check=False, timeout=60)
    return json.loads(said.stdout) if said.returncode == 0 else None


def test_a_dry_run_reads_every_profile_format():
    for name, format in FORMATS.items():
        folder = os.path.join(CORPUS, name)
        answers = [dry_run(os.path.join(folder, file), *(["--format", format] if format else []))
                   for file in sorted(os.listdir(folder))]
        read = [a for a in answers if a and a.get("samples")]
        print(f"# {name}: {len(read)} of {len(answers)}, as {sorted({a['format'] for a in read})}")
        assert read, name


def test_a_dry_run_shows_what_a_profile_would_lose():
    with Server() as s:
        path = os.path.join(s.home, "cpu.folded")
        with open(path, "w", encoding="utf-8") as f:
            f.write("main;acmecorp::check_password;login(token=abcdef123) 3\n")
        assert [c["rule"] for c in dry_run(path)["changes"]] == ["shape: secret=value"]
        loud = dry_run(path, "--set", "redact.patterns=acme", "--set", "redact.functions=substring")["changes"]
        assert [c["place"] for c in loud if c["rule"] == "pattern: acme"] == ["function.name"], loud
        assert not any("abcdef123" in json.dumps(c) for c in loud)


tap.run(sys.modules[__name__])
