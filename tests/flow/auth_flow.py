#!/usr/bin/env python3
"""Tokens, tenants, CORS and public addresses."""
import base64
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(__file__))
from server import JSON, PB, PROGRAM, TRACE_METHOD, Server, export_request, free_port, make_span, span_ids, tap  # noqa: E402


def new_token(path, name, scopes, *more):
    """Makes one with the program's own command, adds its line to the file; returns the token."""
    done = subprocess.run([PROGRAM, "token", "new", "--name", name, "--scopes", scopes, *more],
                          capture_output=True, text=True, check=True)
    token, line = [text for text in done.stdout.splitlines() if text and not text.startswith("#")]
    with open(path, "a", encoding="ascii") as f:
        os.chmod(path, 0o600)
        f.write(line + "\n")
    return token


folder = tempfile.mkdtemp()
TOKENS = os.path.join(folder, "tokens")
reader = new_token(TOKENS, "reader", "read")
writer = new_token(TOKENS, "writer", "write")
admin = new_token(TOKENS, "admin", "read,write,admin")
server = Server(f"auth:\n  token_file: {TOKENS}\n  header: X-Api-Key\n").start()


def test_every_route_but_the_probes_needs_a_token():
    for method, path in (("POST", "/v1/traces"), ("GET", "/api/traces/1"), ("GET", "/api/v2/traces/1"),
                         ("GET", "/api/v1/trace/1"), ("GET", "/api/v1/services"), ("POST", "/api/v1/erase"),
                         ("POST", "/api/v1/flush"), ("GET", "/metrics"), ("POST", "/v1/metrics"),
                         ("POST", "/v1/logs"), ("GET", "/api/status/buildinfo"), ("GET", "/status/version"),
                         ("GET", "/api/search/tags"), ("GET", "/api/v2/search/tag/name/values"), ("GET", "/status"),
                         ("GET", "/status/services"), ("GET", "/status/endpoints"), ("GET", "/status/config")):
        answer = server.request(method, path, b"" if method == "POST" else None,
                                {"Content-Type": "application/x-protobuf"}, token=None)
        assert answer.status == 401, (path, answer.status)
        assert "Bearer" in answer.headers["WWW-Authenticate"]
        assert server.request(method, path, b"" if method == "POST" else None,
                              {"Content-Type": "application/x-protobuf"}, token="wrong").status == 401
    assert server.get("/ready", token=None).status == 200
    assert server.get("/api/echo", token=None).status == 200


def test_scopes_are_kept_apart():
    body = export_request([span := make_span()])
    assert server.post("/v1/traces", body, token=reader).status == 403
    assert server.post("/v1/traces", body, token=writer).status == 200
    path = "/api/traces/" + span["trace_id"].hex()
    assert server.get(path, token=writer).status == 403
    assert server.get(path, token=reader).status == 200
    assert server.post("/api/v1/flush", b"", "application/json", token=writer).status == 403
    assert server.post("/api/v1/flush", b"", "application/json", token=admin).status == 200
    assert server.get("/status", token=reader).status == 200
    assert server.get("/status/config", token=reader).status == 403
    assert server.get("/status/config", token=admin).status == 200
    for path in ("/status/overrides", "/status/overrides/single-tenant", "/status/runtime_config"):
        assert server.get(path, token=reader).status == 403, path
        assert "limits.query_time" in server.get(path, token=admin).text, path
    whole, diff = (server.get("/status/config" + mode, token=admin).text for mode in ("", "?mode=diff"))
    assert "# default" in whole and "# default" not in diff and "listen" in diff, diff
    defaults = server.get("/status/config?mode=defaults", token=admin).text
    assert str(server.port) not in defaults and all(line.endswith("# default") for line in defaults.splitlines()), defaults
    assert [line.split()[0] for line in defaults.splitlines()] == [line.split()[0] for line in whole.splitlines()]
    assert server.get("/status/config?mode=none", token=admin).status == 400
    assert server.get("/status/runtime_config?mode=diff", token=admin).text == "# of the server, the same for every tenant\n"
    assert server.get("/status/usage-stats", token=reader).status == 200


def test_a_token_may_come_as_basic_password_or_own_header():
    basic = base64.b64encode(b"anybody:" + reader.encode()).decode()
    assert server.get("/metrics", {"Authorization": "Basic " + basic}, token=None).status == 200
    assert server.get("/metrics", {"X-Api-Key": reader}, token=None).status == 200
    assert server.get("/metrics", {"X-Api-Key": "no"}, token=None).status == 401


def test_grpc_says_unauthenticated_and_denied():
    server.token = None
    assert server.grpc(TRACE_METHOD, b"")[0] == 16
    assert server.grpc(TRACE_METHOD, b"", [f"authorization: Bearer {reader}"])[0] == 7
    assert server.grpc(TRACE_METHOD, b"", [f"authorization: Bearer {writer}"])[0] == 0


def test_sighup_reads_the_tokens_again():
    fresh = new_token(TOKENS, "fresh", "read")
    assert server.get("/metrics", token=fresh).status == 401
    server.process.send_signal(signal.SIGHUP)
    for _ in range(100):
        if server.get("/metrics", token=fresh).status == 200:
            break
        time.sleep(0.05)
    assert server.get("/metrics", token=fresh).status == 200
    with open(TOKENS, "a", encoding="ascii") as f:
        f.write("this is no token line\n")
    server.process.send_signal(signal.SIGHUP)
    for _ in range(100):
        if "tokens were not reloaded" in server.log():
            break
        time.sleep(0.05)
    assert "tokens were not reloaded" in server.log()
    assert server.get("/metrics", token=fresh).status == 200


def test_tokens_never_reach_the_log():
    for token in (reader, writer, admin):
        assert token not in server.log()


def test_a_public_address_is_refused_with_the_line_to_add():
    done = subprocess.run([PROGRAM, "serve", "--data", os.path.join(folder, "d"), "--listen", f"0.0.0.0:{free_port()}"],
                          capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1 and "--allow-public-without-auth" in done.stderr, done.stderr
    assert "token_file" in done.stderr, done.stderr
    assert not os.path.exists(os.path.join(folder, "d")), "nothing is made before the refusal"


def test_a_public_address_is_taken_when_the_operator_says_so():
    port = free_port()
    with Server(flags=["--listen", f"0.0.0.0:{port}", "--allow-public-without-auth"]) as s:
        s.port = port
        assert s.get("/ready").status == 200


def test_tenants_do_not_see_each_other():
    with Server("tenancy:\n  enabled: true\n") as s:
        trace = os.urandom(16)
        red, blue = make_span(trace), make_span(trace)
        assert s.post("/v1/traces", export_request([red])).status == 401
        assert s.get("/api/traces/" + trace.hex()).text == "no org id\n"
        s.send([red], headers={"X-Scope-OrgID": "red"})
        s.send([blue], headers={"X-Scope-OrgID": "blue"})
        path = "/api/traces/" + trace.hex()
        assert span_ids(s.get(path, {"X-Scope-OrgID": "red"})) == [red["span_id"]]
        assert span_ids(s.get(path, {"X-Scope-OrgID": "blue"})) == [blue["span_id"]]
        both = sorted([red["span_id"], blue["span_id"]])
        assert span_ids(s.get(path, {"X-Scope-OrgID": "red|blue"})) == both
        assert s.get(path, {"X-Scope-OrgID": "green"}).status == 404
        assert s.post("/v1/traces", b"", headers={"X-Scope-OrgID": "red|blue"}).status == 400
        assert s.get(path, {"X-Scope-OrgID": "../etc"}).status == 400
        assert s.grpc(TRACE_METHOD, export_request([make_span()]), ["x-scope-orgid: red"])[0] == 0
        assert s.grpc(TRACE_METHOD, b"")[0] == 16
        assert s.get("/ready").status == 200
        erase = s.post("/api/v1/erase", b'{"all":true}', "application/json", {"X-Scope-OrgID": "red"})
        assert erase.status == 200, erase.text
        assert s.get(path, {"X-Scope-OrgID": "red"}).status == 404
        assert span_ids(s.get(path, {"X-Scope-OrgID": "blue"})) == [blue["span_id"]]
        names = [s_["service"] for s_ in s.json("/api/v1/services", headers={"X-Scope-OrgID": "blue"})["services"]]
        assert names == ["web"], names


def test_tokens_are_bound_to_tenants():
    """One token read any tenant by changing X-Scope-OrgID."""
    s = Server("tenancy:\n  enabled: true\nauth:\n  token_file: HOME/tokens\n")
    tokens = os.path.join(s.home, "tokens")
    red = new_token(tokens, "red", "read,write,admin", "--tenants", "red")
    both = new_token(tokens, "both", "read", "--tenants", "red,blue")
    boss = new_token(tokens, "boss", "read,write,admin")
    with s:
        trace = os.urandom(16)
        ours, theirs = make_span(trace, service="red-shop"), make_span(trace, service="blue-shop")
        path = "/api/traces/" + trace.hex()
        assert s.post("/v1/traces", export_request([ours]), token=red).status == 200, "the header is implied"
        assert s.post("/v1/traces", export_request([theirs]), headers={"X-Scope-OrgID": "blue"}, token=red).status == 403
        assert s.post("/v1/traces", export_request([theirs]), headers={"X-Scope-OrgID": "blue"}, token=boss).status == 200
        assert span_ids(s.get(path, token=red)) == [ours["span_id"]]
        for header in ("blue", "red|blue", "RED"):
            answer = s.get(path, {"X-Scope-OrgID": header}, token=red)
            assert answer.status == 403 and "tenant" in answer.text, (header, answer.text)
        assert s.get(path, token=both).status == 401
        assert len(span_ids(s.get(path, {"X-Scope-OrgID": "red|blue"}, token=both))) == 2
        assert s.post("/api/v1/erase", b'{"all":true}', "application/json", {"X-Scope-OrgID": "blue"}, token=red).status == 403
        assert s.get("/status/config", token=red).status == 403
        assert s.grpc(TRACE_METHOD, export_request([make_span()]),
                      [f"authorization: Bearer {red}", "x-scope-orgid: blue"])[0] == 7
        assert s.grpc(TRACE_METHOD, export_request([make_span()]), [f"authorization: Bearer {red}"])[0] == 0
        mine, all_of_them = s.get("/metrics", token=red).text, s.get("/metrics", token=boss).text
        assert 'tenant="red"' in mine and "blue" not in mine, [x for x in mine.splitlines() if "blue" in x]
        assert 'tenant="red"' in all_of_them and 'tenant="blue"' in all_of_them
        erased = s.post("/api/v1/erase", b'{"all":true}', "application/json", token=red)
        assert erased.status == 200 and "by=red" in s.log(), erased.text
        assert span_ids(s.get(path, {"X-Scope-OrgID": "blue"}, token=boss)) == [theirs["span_id"]]


def test_two_tenant_headers_are_refused():
    """The first one counted: a client's, if a proxy adds its own behind it."""
    with Server("tenancy:\n  enabled: true\n") as s:
        for names in (("red", "blue"), ("red", "red"), ("", "red")):
            head = "".join(f"X-Scope-OrgID: {name}\r\n" for name in names)
            with socket.create_connection(("127.0.0.1", s.port), 10) as c:
                c.sendall(f"GET /api/search?q=%7B%7D HTTP/1.1\r\nHost: localhost\r\n{head}Connection: close\r\n\r\n".encode())
                answer = b""
                while (piece := c.recv(65536)):
                    answer += piece
            assert answer.startswith(b"HTTP/1.1 400") and b"more than once" in answer, (names, answer)
        code, head, _ = s.curl("--http2-prior-knowledge", "-H", "x-scope-orgid: red", "-H", "X-Scope-OrgID: blue", path="/api/search?q=%7B%7D")
        assert code == 0 and " 400" in head.splitlines()[0], head
        assert s.grpc(TRACE_METHOD, export_request([make_span()]), ["x-scope-orgid: red", "x-scope-orgid: blue"])[0] == 3
        assert s.get("/api/search?q=%7B%7D", {"X-Scope-OrgID": "red"}).status == 200


def test_no_call_changes_what_another_tenant_has():
    """Every call in the table that changes something, sent by another tenant with the ids and names of the first."""
    s = Server("tenancy:\n  enabled: true\nauth:\n  token_file: HOME/tokens\n")
    tokens, mark = os.path.join(s.home, "tokens"), "redmark"
    red, blue = (new_token(tokens, name, "read,write,admin,control", "--tenants", name) for name in ("red", "blue"))
    with s:
        span = make_span(service=mark, name=mark, ago_ms=2000)
        trace, ends = span["trace_id"].hex(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
        for path, body, kind in (
                ("/v1/traces", export_request([span]), PB), ("/api/v1/deploys", json.dumps({"service": mark, "version": mark}), JSON),
                (f"/api/v1/profile?service={mark}&type=cpu", f"{mark};{mark}work 7\n", "text/plain"),
                (f"/api/v1/pins/{trace}?note={mark}", b"", JSON), (f"/api/v1/profiling?service={mark}", b'{"enabled": true}', JSON),
                ("/api/v1/silences", json.dumps({"matchers": [{"name": "service", "value": mark}], "comment": mark, "createdBy": mark, "endsAt": ends}), JSON),
                ("/adhocprofiles.v1.AdHocProfileService/Upload", json.dumps({"name": mark, "profile": base64.b64encode(b"a;b 3\n").decode()}), JSON),
                ("/settings.v1.SettingsService/Set", json.dumps({"setting": {"name": mark, "value": mark}}), JSON)):
            answer = s.post(path, body, kind, token=red)
            assert answer.status == 200, (path, answer.status, answer.text)
        silence = json.loads(s.get("/api/v1/silences", token=red).body)
        silence = (silence if isinstance(silence, list) else silence["silences"])[0]["id"]
        adhoc = json.loads(s.post("/adhocprofiles.v1.AdHocProfileService/List", b"{}", JSON, token=red).body)["profiles"][0]["id"]

        def state():
            got = [s.get(path, token=red) for path in ("/api/v1/pins", "/api/v1/silences", "/api/v1/deploys", "/api/v1/profiling",
                                                      f"/api/traces/{trace}", f"/pyroscope/render?query=%7Bservice_name%3D%22{mark}%22%7D&from=now-1h")]
            got += [s.post(path, b"{}", JSON, token=red) for path in ("/adhocprofiles.v1.AdHocProfileService/List", "/settings.v1.SettingsService/Get")]
            return [(a.status, mark in a.text, a.text.count(mark)) for a in got]

        before = state()
        assert sum(is_in for _, is_in, _ in before) >= 6, before
        bodies = [b"{}", b'{"all":true}', json.dumps({"service": mark}).encode(), json.dumps({"traces": [trace]}).encode(),
                  json.dumps({"id": adhoc}).encode(), json.dumps({"name": mark}).encode(), json.dumps({"id": silence, "tenant": "red"}).encode(),
                  json.dumps({"setting": {"name": mark, "value": "x"}}).encode(), json.dumps({"enabled": False}).encode()]
        n_sent = n_taken = 0
        for method, scope, path in (line.split() for line in s.get("/status/endpoints", token=blue).text.splitlines()):
            if method == "GET" or scope not in ("read", "write", "admin", "control") or "{*}" in path:
                continue
            for text in (trace, silence, mark) if "{}" in path else ("",):
                for more in ("", f"?service={mark}", f"?trace={trace}", "?tenant=red", f"?id={silence}", "?all=true"):
                    for body in bodies if method == "POST" else [b"{}"]:
                        answer = s.request(method, path.replace("{}", text) + more, body, {"Content-Type": JSON}, token=blue)
                        n_sent, n_taken = n_sent + 1, n_taken + (answer.status == 200)
        assert n_sent > 300 and n_taken > 20, (n_sent, n_taken)
        assert state() == before, (before, state())


def test_no_call_shows_the_names_of_another_tenant():
    """Every call in the table that reads, asked by another tenant with the ids of the first."""
    s = Server("tenancy:\n  enabled: true\nauth:\n  token_file: HOME/tokens\n")
    tokens, mark = os.path.join(s.home, "tokens"), "redmark"
    red, blue = (new_token(tokens, name, "read,write,admin,control", "--tenants", name) for name in ("red", "blue"))
    with s:
        old, new = (make_span(service=mark, name=mark, ago_ms=ago, attributes={mark: mark}, resource={"service.version": mark + str(ago)})
                    for ago in (3600000, 2000))
        trace, span, now = new["trace_id"].hex(), new["span_id"].hex(), int(time.time() * 1000)
        for path, body, kind in (
                ("/v1/traces", export_request([old]), PB), ("/v1/traces", export_request([new]), PB),
                (f"/api/v1/profile?service={mark}&type=cpu&span_id={span}", f"{mark};{mark}work 7\n", "text/plain"),
                ("/api/v1/deploys", json.dumps({"service": mark, "version": mark}), JSON), (f"/api/v1/pins/{trace}?note={mark}", b"", JSON),
                ("/api/v1/silences", json.dumps({"matchers": [{"name": "service", "value": mark}], "comment": mark, "createdBy": mark,
                                                 "endsAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))}), JSON),
                (f"/api/v1/profiling?service={mark}", b'{"enabled": true}', JSON),
                ("/adhocprofiles.v1.AdHocProfileService/Upload", json.dumps({"name": mark, "profile": base64.b64encode(b"redmark;b 3\n").decode()}), JSON),
                ("/settings.v1.SettingsService/Set", json.dumps({"setting": {"name": mark, "value": mark}}), JSON)):
            answer = s.post(path, body, kind, token=red)
            assert answer.status == 200, (path, answer.status, answer.text)
        assert s.get(f"/api/v1/control?service={mark}&instance={mark}", token=red).status == 200
        s.post("/v1/traces", export_request([make_span(service="bluemark")]), token=blue)
        adhoc = json.loads(s.post("/adhocprofiles.v1.AdHocProfileService/List", b"{}", JSON, token=red).body)["profiles"][0]["id"]
        bodies = [json.dumps({"start": now - 7200000, "end": now + 10000, "labelSelector": "{}", "name": "service_name", "labelNames": ["service_name"],
                              "profileTypeID": "samples:samples:count::"}).encode(), json.dumps({"id": adhoc, "leftId": adhoc, "rightId": adhoc}).encode()]
        n_asked = n_shown = 0
        tools = [{"name": name, "arguments": arguments} for name, arguments in
                 (("services", {}), ("search", {"q": "{}"}), ("why", {"trace": trace}), ("flame", {"trace": trace}), ("findings", {"service": mark}),
                  ("diff", {"left": mark, "right": mark}), ("compare", {"q": "{}"}), ("spans_with", {"function": mark + "work"}), ("deploys", {}), ("coverage", {"service": mark}))]
        for tool in tools:
            question = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool})
            theirs, ours = ([part["text"] for part in json.loads(s.post("/mcp", question, JSON, token=who).body)["result"]["content"]] for who in (blue, red))
            asked_for = [value for value in tool["arguments"].values() if mark in value]
            assert asked_for or mark not in theirs[0], (tool, theirs)
            assert not asked_for or mark not in theirs[0].split("Open:")[0].replace(asked_for[0], ""), (tool, theirs)
            n_shown += mark in ours[0]
        for method, scope, path in (line.split() for line in s.get("/status/endpoints", token=blue).text.splitlines()):
            path = path.replace("{*}", f"{trace}/{span}" if "/spans/" in path else "resource.service.name").replace("{}", trace)
            if method == "GET" and scope in ("read", "control", "admin") and "pprof" not in path:
                asked = [(path + more, None) for more in ("", f"?trace={trace}", "?q=%7B%7D&start=1", "?selector=%7B%7D&from=now-2h", f"?span_id={span}")]
            else:
                asked = [(path, body) for body in bodies if method == "POST" and scope == "read" and path != "/mcp"]
            for path, body in asked:
                answers = [s.get(path, token=who) if body is None else s.post(path, body, JSON, token=who) for who in (blue, red)]
                assert mark not in answers[0].text.replace(adhoc, ""), (path, body, answers[0].status, answers[0].text[:300])
                n_asked += 1
                n_shown += mark in answers[1].text
        assert n_asked > 300 and n_shown > 60, (n_asked, n_shown)


def test_people_signed_in_by_a_proxy():
    users = {"X-Auth-Request-Email": "ann@example.com", "Host": "localhost"}
    config = ("auth:\n  proxy:\n    user_header: X-Auth-Request-Email\n    groups_header: X-Auth-Request-Groups\n"
              "    peers: [%s]\n    users_file: HOME/users\n")
    for peers, status in (("127.0.0.1", 200), ("127.0.0.0/8", 200), ("10.0.0.0/8", 401)):
        s = Server(config % peers)
        with open(os.path.join(s.home, "users"), "w", encoding="utf-8") as f:
            f.write("ann@example.com:read\n@sre:read,write,admin\n")
        with s:
            assert s.get("/api/v1/services").status == 401
            assert s.get("/api/v1/services", {"Authorization": "Bearer x"}).status == 401
            assert s.get("/api/v1/services", users).status == status
            if status != 200:
                continue
            assert s.post("/v1/traces", b"", headers=users).status == 403
            assert s.post("/v1/traces", b"", headers={**users, "X-Auth-Request-Groups": "dev,sre"}).status == 403, "first line"
            eve = {"X-Auth-Request-Email": "eve@example.com"}
            assert s.get("/api/v1/services", eve).status == 403
            assert s.post("/v1/traces", b"", headers={**eve, "X-Auth-Request-Groups": "dev,sre"}).status == 200
            assert s.get("/api/v1/services", {**users, "Host": "evil.example"}).status == 421, "a rebound name"
            assert s.get("/api/v1/services", {**users, "Sec-Fetch-Site": "cross-site"}).status == 403
            assert s.get("/", users).status == 200
    for lines, word in (("user_header: X-User\n", "peers"), ("peers: [127.0.0.1]\n", "user_header")):
        s = Server("auth:\n  proxy:\n    " + lines)
        try:
            s.start()
            raise SystemExit("it started")
        except AssertionError as e:
            assert word in str(e), e


def test_a_file_without_tokens_is_warned_about():
    s = Server("auth:\n  token_file: HOME/tokens\n")
    with open(os.path.join(s.home, "tokens"), "w", encoding="utf-8") as f:
        f.write("# none yet\n")
    with s:
        assert s.get("/api/v1/services").status == 401
        assert "contains no token" in s.log() and "spanflame token new" in s.log(), s.log()


def test_without_tenancy_the_header_is_ignored():
    with Server() as s:
        span = make_span()
        s.send([span], headers={"X-Scope-OrgID": "anything/at all"})
        assert s.get("/api/traces/" + span["trace_id"].hex()).status == 200


def test_cors_is_for_listed_origins_only():
    with Server("cors:\n  origins: [https://app.example]\n") as s:
        ask = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST",
               "Access-Control-Request-Headers": "content-type"}
        answer = s.request("OPTIONS", "/v1/traces", headers=ask)
        assert answer.status == 204, answer.status
        assert answer.headers["Access-Control-Allow-Origin"] == "https://app.example"
        assert answer.headers["Access-Control-Allow-Headers"] == "content-type"
        ask["Origin"] = "https://evil.example"
        answer = s.request("OPTIONS", "/v1/traces", headers=ask)
        assert answer.status == 405 and "Access-Control-Allow-Origin" not in answer.headers
        answer = s.post("/v1/traces", b"", headers={"Origin": "https://app.example"})
        assert answer.status == 200 and answer.headers["Access-Control-Allow-Origin"] == "https://app.example"


tap.run(sys.modules[__name__])
