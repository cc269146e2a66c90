#!/usr/bin/env python3
"""What a page of another site can make a browser send: raw requests as browsers write them."""
import os
import socket
import sys

sys.path.insert(0, os.path.dirname(__file__))
from server import TRACE_METHOD, Server, export_request, make_span, tap  # noqa: E402

server = Server("cors:\n  origins: [https://app.example]\n").start()
kept = make_span()
server.send([kept])
KEPT = "/api/traces/" + kept["trace_id"].hex()
CROSS = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}


def raw(method, path, headers, body=b"", at=None):
    """One request, byte by byte as given; (status, text)."""
    at = at or server
    lines = [f"{method} {path} HTTP/1.1"] + [f"{k}: {v}" for k, v in headers.items()]
    lines += [f"Content-Length: {len(body)}", "Connection: close", "", ""]
    with socket.create_connection(("127.0.0.1", at.port), timeout=20) as s:
        s.sendall("\r\n".join(lines).encode() + body)
        answer = b""
        while part := s.recv(65536):
            answer += part
    head, _, text = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), text.decode()


def host(name, path="/api/v1/services", method="GET", body=b"", at=None, **more):
    return raw(method, path, {"Host": name, **{k.replace("_", "-"): v for k, v in more.items()}}, body, at)


def is_kept():
    assert server.get(KEPT).status == 200


def test_the_attack_as_first_seen():
    own = f"127.0.0.1:{server.port}"
    for path in ("/api/v1/erase", "/api/v1/erase?service=web", "/api/v1/erase?all=true"):
        status, text = raw("POST", path, {"Host": own, "Content-Type": "text/plain", **CROSS}, b'{"all":true}')
        assert status == 403 and "cors.origins" in text, (path, status, text)
    for path in ("/ingest?name=x&format=folded", "/api/v1/flush", "/api/v1/profile?service=x", "/pyroscope/ingest?name=x"):
        status, text = raw("POST", path, {"Host": own, "Content-Type": "text/plain", **CROSS}, b"a;b 1\n")
        assert status == 403, (path, status, text)
    is_kept()


def test_changing_calls_want_a_type_no_form_can_send():
    own = f"127.0.0.1:{server.port}"
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        for path in ("/api/v1/erase", "/api/v1/flush"):
            more = {"Content-Type": kind} if kind else {}
            status, text = raw("POST", path, {"Host": own, **more}, b'{"all":true}' if "erase" in path else b"")
            assert status == 415 and "application/json" in text, (path, kind, status, text)
    is_kept()


def test_every_call_that_reads_or_changes_refuses_foreign_pages():
    for path in ("/api/v1/services", KEPT, "/api/search", "/metrics", "/status", "/debug/pprof/profile?seconds=1",
                 "/api/services", "/pyroscope/render?query=x", "/api/v1/profile?app=web", "/api/v1/findings?service=web"):
        for more in (CROSS, {"Sec-Fetch-Site": "same-site"}, {"Origin": "null"}, {"Origin": "http://evil.example"},
                     {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}):
            answer = server.get(path, more)
            assert answer.status == 403, (path, more, answer.status)
    for path in ("/v1/traces", "/v1/logs", "/querier.v1.QuerierService/ProfileTypes",
                 "/settings.v1.SettingsService/Set", "/push.v1.PusherService/Push"):
        assert server.post(path, b"{}", "application/json", CROSS).status == 403, path
    for path in ("/", "/ready", "/api/echo"):
        assert server.get(path, CROSS).status == 200, path


def endpoints():
    """(method, scope, path) of all calls, as the server lists them."""
    for line in server.get("/status/endpoints").text.splitlines():
        method, scope, path = line.split()
        yield method, scope, path.replace("{*}", "x").replace("{}", "0123456789abcdef0123456789abcdef")


def test_no_call_is_forgotten():
    """What a page can send to every call in the table: refused, except where there is nothing to read or change."""
    n = 0
    for method, scope, path in endpoints():
        if scope in ("none", "-") or method == "gRPC":  # gRPC needs HTTP/2, and goes through the same check
            continue
        kind = {"Content-Type": "application/json"} if method in ("POST", "PUT") else {}
        for more in (CROSS, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
            answer = server.request(method, path, b"{}" if kind else None, {**kind, **more})
            assert answer.status == 403, (method, path, more, answer.status, answer.text[:100])
        answer = server.request(method, path, b"{}" if kind else None, {**kind, "Host": "evil.example"})
        assert answer.status in (421, 403) and "server.hosts" in answer.text, (method, path, answer.status, answer.text[:100])
        n += 1
    assert n > 100, n
    is_kept()


def test_own_changing_calls_want_a_type_no_form_can_send():
    n = 0
    for method, scope, path in endpoints():
        # Profiles are files of any type, and refused from foreign pages as all calls are.
        if method == "POST" and path.startswith(("/api/v1/", "/mcp")) and path != "/api/v1/profile":
            answer = server.request("POST", path, b"{}", {"Content-Type": "text/plain"})
            assert answer.status == 415, (scope, path, answer.status, answer.text[:100])
            n += 1
    assert n >= 8, n
    is_kept()


def test_own_pages_and_listed_origins_go_on():
    for more in ({"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {},
                 {"Origin": f"http://127.0.0.1:{server.port}"}, {"Origin": f"https://127.0.0.1:{server.port}"},
                 {"Origin": "https://app.example", "Sec-Fetch-Site": "cross-site"}):
        answer = server.get("/api/v1/services", more)
        assert answer.status == 200, (more, answer.status, answer.text)
    assert server.post("/v1/traces", export_request([make_span()]), headers={"Origin": "https://app.example"}).status == 200


def test_a_rebound_name_is_refused_everywhere():
    for name in ("evil.example", "evil.example:4318", f"evil.example:{server.port}", "127.0.0.1.evil.example",
                 "localhost.evil.example", "com.", "a@127.0.0.1", "[::1].evil.example:80"):
        for path in ("/api/v1/services", "/", "/metrics", "/ready", "/nothing"):
            status, text = host(name, path)
            assert status == 421 and "server.hosts" in text, (name, path, status, text)
    status, _ = host("evil.example", "/api/v1/erase", "POST", b'{"all":true}', Content_Type="application/json")
    assert status == 421
    status, text = raw("GET", "http://evil.example/api/v1/services", {"Host": "127.0.0.1"})
    assert status == 421, text
    is_kept()
    assert "server.hosts" in server.log()


def test_names_of_ours_are_taken():
    for name in ("127.0.0.1", f"127.0.0.1:{server.port}", "192.168.7.9:4040", "[::1]:4040", "[::1]", "localhost",
                 "localhost:4040", "LOCALHOST.", "app.localhost:80", "spanflame", "spanflame:4318", "my_store",
                 socket.gethostname()):
        status, text = host(name)
        assert status == 200, (name, status, text)


def test_grpc_looks_at_its_authority():
    body = export_request([make_span()])
    assert server.grpc(TRACE_METHOD, body)[0] == 0
    assert server.grpc(TRACE_METHOD, body, ["Host: collector"])[0] == 0
    code, message = server.grpc(TRACE_METHOD, body, ["Host: evil.example"])[:2]
    assert code == 7, (code, message)


def test_further_names_come_from_the_configuration():
    with Server("server:\n  hosts: [traces.example.com, '*.corp.example']\n") as s:
        for name, want in (("traces.example.com", 200), ("TRACES.example.com:443", 200), ("a.b.corp.example", 200),
                           ("corp.example", 421), ("evilcorp.example", 421), ("evil.example", 421)):
            assert host(name, at=s)[0] == want, name
    with Server("server:\n  hosts: ['*']\n") as s:
        assert host("evil.example", at=s)[0] == 200


def test_behind_tokens_every_name_will_do():
    s = Server("auth:\n  token_file: HOME/tokens\n")
    with open(os.path.join(s.home, "tokens"), "w", encoding="ascii") as f:
        f.write("a:read:" + "0" * 64 + "\n")
    with s:
        assert host("evil.example", at=s)[0] == 401
        assert host("evil.example", "/ready", at=s)[0] == 200


tap.run(sys.modules[__name__])
