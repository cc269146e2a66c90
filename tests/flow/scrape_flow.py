#!/usr/bin/env python3
"""Scraping: targets that are written down, found by files and by addresses; totals subtracted and right over a restart of
the target; targets that are slow, huge, elsewhere, broken or want a token or a certificate cost no other code anything."""
import gzip
import http.server
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from pprof_make import Strings, packed, pprof  # noqa: E402
from server import PROGRAM, Server, field, tap  # noqa: E402

ASKED = []  # (path, headers)
HEAP = {"allocs": 1000, "other": 10}  # totals of the target's process
SD = {"body": b"[]", "status": 200}
LOCK, AT_ONCE, MOST = threading.Lock(), {}, {}  # requests under way, by path


def heap_dump():
    """As Go writes it: levels and totals in one, no duration."""
    strings = Strings()
    strings[""]
    types = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"]
    out = b"".join(field(1, field(1, strings[t]) + field(2, strings["bytes" if "space" in t else "count"])) for t in types)
    for number, name in ((1, "allocs"), (2, "other")):
        out += field(2, packed(1, [number]) + packed(2, [HEAP[name], HEAP[name] * 100, 5, 500]))
        out += field(4, field(1, number) + field(4, field(1, number)))
        out += field(5, field(1, number) + field(2, strings["main." + name]))
    out += field(9, time.time_ns())
    return gzip.compress(out + b"".join(field(6, s) for s in strings))


class Target(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        ASKED.append((self.path, dict(self.headers)))
        path = self.path.split("?")[0]
        body, status, headers = b"", 200, {}
        if path == "/debug/pprof/profile":
            body = pprof({"main;work": 10**9}, seconds=1, when=time.time_ns() - 10**9)
        elif path in ("/debug/pprof/heap", "/debug/pprof/allocs"):
            body = heap_dump()
        elif path == "/folded":
            body = b"main;fold 7\n"
        elif path == "/near":
            status, headers = 302, {"Location": "/folded"}
        elif path == "/far":
            status, headers = 302, {"Location": f"http://127.0.0.2:{PORT}/folded"}
        elif path == "/secret":
            status = 200 if self.headers.get("Authorization") == "Bearer t0ken" else 401
            body = b"main;secret 3\n" if status == 200 else b"no"
        elif path == "/certified":
            status = 200 if self.connection.getpeercert() else 403
            body = b"main;certified 3\n"
        elif path in ("/alone", "/together"):
            with LOCK:
                AT_ONCE[path] = AT_ONCE.get(path, 0) + 1
                MOST[path] = max(MOST.get(path, 0), AT_ONCE[path])
            time.sleep(0.4)
            with LOCK:
                AT_ONCE[path] -= 1
            body = b"main;at_once 1\n"
        elif path == "/garbage":
            body = b"\x1f\x8b\x08garbage"
        elif path == "/huge":
            self.send_response(200)
            self.end_headers()
            try:
                for _ in range(400):
                    self.wfile.write(b"main;huge 1\n" * 10000)
            except OSError:
                pass
            return
        elif path == "/slow":
            SLOW.wait(60)
        elif path == "/sd":
            body, status = SD["body"], SD["status"]
        else:
            status = 404
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *_):
        pass


SLOW = threading.Event()
WEB = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Target)
WEB.daemon_threads = True
PORT = WEB.server_address[1]
threading.Thread(target=WEB.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{PORT}"
def serve_tls(home):
    """The same over TLS, which asks for a certificate; None where none can be made."""
    if not shutil.which("openssl"):
        return None
    cert, key = (os.path.join(home, name) for name in ("tls.crt", "tls.key"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.load_verify_locations(cert)
    context.verify_mode = ssl.CERT_OPTIONAL
    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Target)
    web.daemon_threads = True
    web.handle_error = lambda *_: None  # a target that does not trust it
    web.socket = context.wrap_socket(web.socket, server_side=True)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    url = f"https://127.0.0.1:{web.server_address[1]}"
    SERVER.config += f"""  - {{url: '{url}/folded', service: trusted, interval: 1s, tls: {{ca: HOME/tls.crt}}}}
  - {{url: '{url}/folded', service: strange, interval: 1s}}
  - {{url: '{url}/folded', service: any, interval: 1s, tls: {{skip_verify: true}}}}
  - {{url: '{url}/certified', service: certified, interval: 1s, tls: {{ca: HOME/tls.crt, cert: HOME/tls.crt, key: HOME/tls.key}}}}
  - {{url: '{url}/certified', service: uncertified, interval: 1s, tls: {{ca: HOME/tls.crt}}}}
"""
    return web


def serve_at_once():
    """Targets of several addresses, which take their time; one scrape may ask one at a time."""
    webs = [http.server.ThreadingHTTPServer((f"127.0.0.{i}", 0), Target) for i in range(2, 6)]
    for web in webs:
        web.daemon_threads = True
        threading.Thread(target=web.serve_forever, daemon=True).start()
    hosts = [f"{web.server_address[0]}:{web.server_address[1]}" for web in webs]
    for path, more in (("alone", ", concurrency: 1"), ("together", "")):
        SERVER.config += f"  - {{targets: {hosts}, job: {path}, service: {path}, path_prefix: /, profiles: [{path}], interval: 1s{more}}}\n"


SECRET = "ghp_" + "Hunter2" * 5
CONFIG = f"""scrape:
  - {{targets: ['127.0.0.1:{PORT}'], service: cart, interval: 1s, seconds: 1, profiles: [profile, heap, allocs],
     labels: {{env: prod}}}}
  - {{url: '{URL}/near', service: near, interval: 1s}}
  - {{url: '{URL}/far', service: far, interval: 1s}}
  - {{url: '{URL}/garbage', service: garbage, interval: 1s}}
  - {{url: '{URL}/huge', service: huge, interval: 1s, max_body: 1MB}}
  - {{url: '{URL}/none?token={SECRET}', service: lost, interval: 1s, labels: {{note: '{SECRET}'}}}}
  - {{url: '{URL}/slow', service: slow, interval: 1s, timeout: 1s}}
  - {{url: '{URL}/secret', service: secret, interval: 1s, bearer_token_file: HOME/token}}
  - job: found
    file_sd: ['HOME/sd/*']
    http_sd: ['{URL}/sd']
    refresh: 1s
    interval: 1s
    profiles: [heap]
    relabel:
      - {{source_labels: [app], target_label: service_name}}
      - {{source_labels: [app, __address__], regex: 'skip;.*', action: drop}}
"""
SERVER = Server(CONFIG)
os.mkdir(os.path.join(SERVER.home, "sd"))
with open(os.path.join(SERVER.home, "token"), "w", encoding="utf-8") as f:
    f.write("t0ken\n")
TLS = serve_tls(SERVER.home)
serve_at_once()
SERVER.start()


def wait_for(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"{what}: {json.dumps(targets(), indent=1)} {SERVER.log()}")


def targets():
    return SERVER.json("/api/v1/targets")["data"]["activeTargets"]


def target(service, part=""):
    for t in targets():
        if t["labels"]["service_name"] == service and part in t["scrapeUrl"]:
            return t
    return None


def is_up(service, part=""):
    t = target(service, part)
    return t and t["health"] == "up" and t


def total(service, kind):
    """The sum of a type of a service's profiles."""
    answer = SERVER.get(f"/pyroscope/render?query={kind}%7Bservice_name%3D%22{service}%22%7D&from=now-1h&until=now")
    return json.loads(answer.body)["flamebearer"]["numTicks"] if answer.status == 200 else 0


CPU = "process_cpu:cpu:nanoseconds:cpu:nanoseconds"


def test_1_targets_are_scraped_and_their_profiles_are_there():
    up = wait_for(lambda: is_up("cart", "/profile"), "the CPU profile")
    assert up["scrapeUrl"] == f"{URL}/debug/pprof/profile?seconds=1", up
    assert up["labels"]["env"] == "prod" and up["labels"]["instance"] == f"127.0.0.1:{PORT}", up
    assert up["scrapePool"] == "cart" and up["scrapeInterval"] == "1s" and up["samples"] > 0, up
    wait_for(lambda: total("cart", CPU) >= 10**9, "the CPU time is there")
    labels = SERVER.get(f"/pyroscope/label-values?label=env&query={CPU}").text
    assert "prod" in labels, labels
    text = subprocess.run([PROGRAM, "targets", "--server", f"http://127.0.0.1:{SERVER.port}"], capture_output=True,
                          text=True, check=True).stdout
    assert f"up       cart  {URL}/debug/pprof/profile?seconds=1" in text and " up, " in text.splitlines()[-1], text


def test_2_totals_are_subtracted_and_right_over_a_restart():
    kind = "memory:alloc_objects:count::"
    wait_for(lambda: (is_up("cart", "/allocs") or {}).get("succeeded", 0) >= 2, "two dumps")
    assert total("cart", kind) == 0, "totals from before the first dump count nothing"
    HEAP["allocs"] = 1600
    wait_for(lambda: total("cart", kind) == 600, f"the difference, not {total('cart', kind)}")
    HEAP.update(allocs=250, other=40)  # the process began again; one of its sums is larger already
    wait_for(lambda: total("cart", kind) == 890, f"all of the new process, not {total('cart', kind)}")
    HEAP["allocs"] = 300
    wait_for(lambda: total("cart", kind) == 940, f"the difference again, not {total('cart', kind)}")
    assert total("cart", "memory:inuse_space:bytes::") > 0


def test_3_hostile_targets_say_why_and_cost_nobody_else_anything():
    def fails(service, says):
        wait_for(lambda: says in (target(service) or {}).get("lastError", ""), f"{service}: {says}")
        assert target(service)["health"] == "down"
    wait_for(lambda: is_up("near"), "a redirect on the same server")
    wait_for(lambda: is_up("secret"), "a token")
    fails("far", "redirects to another server")
    fails("garbage", "gzip")
    fails("huge", "more than max_body")
    fails("slow", "imed out")
    fails("lost", "404")
    assert not any(h.get("Authorization") for path, h in ASKED if path != "/secret"), "a token goes to its target only"
    before = target("cart", "/profile")["succeeded"]
    wait_for(lambda: target("cart", "/profile")["succeeded"] > before, "others go on")
    metrics = SERVER.metrics()
    assert 'spanflame_scrape_up{job="cart",instance="127.0.0.1:%d",path="profile",service="cart"' % PORT in metrics
    assert [line for line in metrics.splitlines() if line.startswith('spanflame_scrape_up{job="far"')][0].endswith(" 0")
    assert SERVER.metric("spanflame_scrape_targets") == 18 + 5 * (TLS is not None) and SERVER.metric("spanflame_scrape_failures_total") > 0
    SLOW.set()


def test_3_secrets_in_addresses_and_labels_are_not_shown():
    assert target("lost")["labels"]["note"] == "[REDACTED]" and "token=[REDACTED]" in target("lost")["scrapeUrl"], target("lost")
    for text in (SERVER.get("/api/v1/targets").text, SERVER.get("/api/v1/targets?format=text").text, SERVER.metrics(), SERVER.log()):
        assert "Hunter2" not in text, text


def test_3a_a_scrape_asks_no_more_at_once_than_it_says():
    wait_for(lambda: MOST.get("/together", 0) > 1 and is_up("alone"), "several at once")
    assert MOST["/alone"] == 1, MOST


def test_3b_targets_over_tls():
    if not TLS:
        raise tap.Skip("openssl is not here to make a certificate")
    for service in ("trusted", "any", "certified"):
        wait_for(lambda s=service: is_up(s), service)
    wait_for(lambda: "certificate" in (target("strange") or {}).get("lastError", ""), "a certificate nobody knows is refused")
    wait_for(lambda: "403" in (target("uncertified") or {}).get("lastError", ""), "a target that wants a certificate gets none")
    assert not is_up("strange") and not is_up("uncertified")


def sd_file(name, text):
    path = os.path.join(SERVER.home, "sd", name)
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.write(text)
    os.rename(path + ".new", os.path.join(os.path.dirname(path), name))


def test_4_targets_are_found_by_files_and_addresses():
    sd_file("a.json", json.dumps([{"targets": [f"127.0.0.1:{PORT}"], "labels": {"app": "by-file"}},
                                  {"targets": ["127.0.0.1:1"], "labels": {"app": "skip"}}]))
    sd_file("b.yml", f"- targets: ['localhost:{PORT}']\n  labels: {{app: by-yaml}}\n")
    SD["body"] = json.dumps([{"targets": [f"127.0.0.1:{PORT}"], "labels": {"app": "by-http"}}]).encode()
    for service in ("by-file", "by-yaml", "by-http"):
        wait_for(lambda: is_up(service), service)
    assert not target("skip") and SERVER.metric("spanflame_scrape_targets_dropped") == 1
    data = SERVER.json("/api/v1/targets")["data"]
    assert data["droppedTargetCounts"] == {"found": 1} and data["moreTargets"] == 0, data
    assert "1 more of found left out by relabelling" in SERVER.get("/api/v1/targets?format=text").text
    sd_file("a.json", "[{")  # half a list ends nothing
    wait_for(lambda: any(d["lastError"] for d in SERVER.json("/api/v1/targets")["data"]["discovery"]), "said")
    assert is_up("by-file") and is_up("by-http")
    SD["body"] = b" " * (2 << 20) + b"[]"
    wait_for(lambda: any("bytes of targets" in d["lastError"] for d in SERVER.json("/api/v1/targets")["data"]["discovery"]),
             "a list without end")
    SD["body"] = b"[]"
    sd_file("a.json", "[]")
    wait_for(lambda: not target("by-file") and not target("by-http"), "gone")
    assert is_up("by-yaml")


def test_5_sighup_takes_other_scrapes_and_keeps_a_bad_set_out():
    path = os.path.join(SERVER.home, "spanflame.yaml")
    with open(path, encoding="utf-8") as config:
        text = config.read()
    ok = target("cart", "/profile")["succeeded"]
    with open(path, "w", encoding="utf-8") as config:
        config.write(text.split("  - {url")[0] + "  - {url: 'ftp://x', service: y}\n")
    SERVER.process.send_signal(signal.SIGHUP)
    wait_for(lambda: "spanflame.yaml:4: url: ftp://x is not an address" in SERVER.log(), "the line is named")
    assert target("secret")
    with open(path, "w", encoding="utf-8") as config:
        config.write(text.split("  - {url")[0])
    SERVER.process.send_signal(signal.SIGHUP)
    wait_for(lambda: not target("secret"), "gone")
    assert target("cart", "/profile")["succeeded"] >= ok, "what stays keeps its state"


def test_6_a_server_that_scrapes_stops_and_starts():
    assert SERVER.stop() == 0, SERVER.log()
    SERVER.start()
    wait_for(lambda: is_up("cart", "/profile"), "again")
    assert SERVER.stop() == 0


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
