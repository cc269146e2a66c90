#!/usr/bin/env python3
"""The answers of our own calls, whole: each equals its file in tests/golden/api (SF_GOLDEN_WRITE=1 writes them; read the
difference), and has the fields that docs/api.md shows, no more and no fewer."""
import http.server
import json
import os
import re
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from pprof_make import pprof  # noqa: E402
from server import Server, tap  # noqa: E402

SOURCE = os.environ["SOURCE_ROOT"]
MS = 1000000
T0 = (int(time.time()) - 300) * 10**9
RANGE = f"from={T0 // 10**9 - 60}&until={T0 // 10**9 + 60}"
TRACE = "5b8efff798038103d269b633813fc60c"
ROOT, CALL, OWN, CHILD = (f"eee19b7ec3c1b17{i}" for i in range(4))


class Target(http.server.BaseHTTPRequestHandler):
    """Something to scrape."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "12")
        self.end_headers()
        self.wfile.write(b"main;work 7\n")

    def log_message(self, *_):
        pass


WEB = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Target)
threading.Thread(target=WEB.serve_forever, daemon=True).start()
server = Server(f"""scrape:
  - {{url: 'http://127.0.0.1:{WEB.server_address[1]}/folded', service: scraped, interval: 1s, labels: {{env: prod}}}}
  - {{job: found, file_sd: ['HOME/none-*.json'], refresh: 1h, profiles: [heap]}}
""").start()


def span(own, name, service, start, end, parent=None, kind=1, trace=TRACE, **more):
    return dict({"trace_id": bytes.fromhex(trace), "span_id": bytes.fromhex(own), "name": name, "service": service, "kind": kind,
                 "parent": bytes.fromhex(parent) if parent else None, "start": T0 + start * MS, "end": T0 + end * MS,
                 "resource": {"service.instance.id": service + "-1", "telemetry.sdk.language": "go"}}, **more)


def send(service, stacks, **more):
    body = pprof({(path, (("span_id", own),) if own else ()): ms * MS for (path, own), ms in stacks.items()}, when=T0 - 5 * 10**9,
                 **more)
    answer = server.post(f"/api/v1/profile?service={service}&label=service.instance.id={service}-1", body)
    assert answer.status == 200, answer.text


# One request whose second host is 300 ms ahead; then forty equal ones, ten of them slow.
server.send([span(ROOT, "GET /cart", "gateway", 0, 100, kind=2), span(CALL, "call shop", "gateway", 10, 90, ROOT, 3),
             span(OWN, "order.calculate_totals", "shop", 320, 380, CALL, 2, attributes={"http.route": "/cart"}),
             span(CHILD, "pay", "shop", 330, 350, OWN)])
send("shop", {("main;rules;regex.match", OWN): 20, ("main;sum", OWN): 10, ("main;sign", CHILD): 15, ("main;idle", ""): 5}, period=2 * MS)
send("shop", {("main;rules;lock", OWN): 8}, sample_type="mutex")
crowd, stacks = [], {}
for n in range(40):
    is_slow = n % 4 == 3
    crowd.append(span(f"{n + 1:016x}", "tax", "tax", 1000 + n, 1000 + n + (300 if is_slow else 20 + n % 3), kind=2,
                      trace=f"{n + 1:032x}"))
    stacks[("main;tax", f"{n + 1:016x}")] = 10 + n % 5
    if is_slow:
        stacks[("main;tax;applyLegacyTax", f"{n + 1:016x}")] = 180 + n % 9
server.send(crowd)
send("tax", stacks)
# Two versions of a service, the second of them told, too; and one that was only told.
server.send([span("f000000000000001", "pay", "pay", -7300000, -7299990, kind=2, trace="1" * 32, resource={"service.version": "v1"})])
server.send([span("f000000000000002", "pay", "pay", -7000000, -6999990, kind=2, trace="2" * 32, resource={"service.version": "v2"})])
for deploy in ({"service": "pay", "version": "v2", "commit": "def456", "environment": "prod", "comment": "less waiting", "url": "http://ci.example/7"},
               {"service": "mail", "version": "3"}):
    deploy["time"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(T0 // 10**9 - 7000))
    assert server.post("/api/v1/deploys", json.dumps(deploy).encode(), "application/json").status == 200
TAX = urllib.parse.quote('{ resource.service.name = "tax" }')
ANSWERS = {
    "trace": (f"trace/{TRACE}", "/api/v1/trace/{id}"),
    "span-profile": (f"spans/{TRACE}/{OWN}/profile", "/api/v1/spans/{trace}/{span}/profile"),
    "span-ledger": (f"spans/{TRACE}/{OWN}/ledger", "/api/v1/spans/{trace}/{span}/ledger"),
    "span-ledger-part": (f"spans/{TRACE}/{OWN}/profile?part=cpu", None),
    "span-coverage": (f"spans/{TRACE}/{OWN}/coverage", None),
    "trace-ledgers": (f"traces/{TRACE}/ledgers", "/api/v1/traces/{trace}/ledgers"),
    "trace-flame": (f"traces/{TRACE}/flame?by=critical-path", "/api/v1/traces/{trace}/flame"),
    "cohort": (f"cohort?q={TAX}&{RANGE}", "/api/v1/cohort"),
    "compare": (f"compare?q={TAX}&split=p75&{RANGE}", "/api/v1/compare"),
    "explain": (f"explain?trace={TRACE}&span={OWN}", "/api/v1/explain"),
    "explain-focus": (f"explain?trace={TRACE}&span={OWN}&focus=sign", None),
    "explain-set": (f"explain?q={TAX}&{RANGE}", None),
    "explain-split": (f"explain?q={TAX}&split=p75&{RANGE}", None),
    "explain-trace": (f"explain?trace={TRACE}", None),
    "coverage": (f"coverage?service=shop&{RANGE}", "/api/v1/coverage"),
    "balance": (f"balance?service=shop&instance=shop-1&{RANGE}", "/api/v1/balance"),
    "findings": (f"findings?trace={TRACE}&span={OWN}", "/api/v1/findings"),
    "findings-each": (f"findings?each=service&{RANGE}", None),
    "frames-spans": (f"frames/spans?function=applyLegacyTax&limit=2&{RANGE}", "/api/v1/frames/spans"),
    "services": (f"services?service=shop&{RANGE}", "/api/v1/services"),
    "keep": (f"keep?slow=250ms&baseline=20&{RANGE}", "/api/v1/keep"),
    "keep-trace": (f"keep/{TRACE}", "/api/v1/keep/{trace}"),
    "pins": ("pins", "/api/v1/pins"),
    "links": ("links", "/api/v1/links"),
    "deploys": (f"deploys?from={T0 // 10**9 - 7500}&until={T0 // 10**9 - 6900}", "/api/v1/deploys"),
    "targets": ("targets", "/api/v1/targets"),
}
# Only in some answers; the page says when.
SOMETIMES = {"clockShiftNs", "hot", "droppedAttributes", "low", "high", "traceId", "spanId", "span", "taggedShare",
             "symbolisedShare", "estimatedSamples", "estimatedLooks", "knownSpanId", "isWithChildren", "of", "few_samples", "thinned", "rules",
             "hourUnixNano", "ruleSet", "id"}


def wait_for_search():
    for _ in range(600):
        if len(server.json(f"/api/search?q={TAX}&limit=100").get("traces", [])) == 40:
            return
        time.sleep(0.1)
    raise AssertionError("the spans never came")


def wait_for_target():
    for _ in range(600):
        if [t["health"] for t in server.json("/api/v1/targets")["data"]["activeTargets"]] == ["up"]:
            return
        time.sleep(0.1)
    raise AssertionError(server.get("/api/v1/targets").text)


def told(value):
    """Moments count from the story's beginning, and the server's port is any."""
    if isinstance(value, dict) and "createdUnixNano" in value:  # a pin: made now, for so long
        seconds = (int(value["untilUnixNano"]) - int(value["createdUnixNano"])) // 10**9
        value = dict(value, createdUnixNano="now", untilUnixNano=f"now +{seconds} s")
    if isinstance(value, dict) and value.get("health") == "up":  # a target: how often and when
        value = dict(value, lastScrape="TIME", lastScrapeDuration=0.0, succeeded=1)
    if isinstance(value, dict) and "posted" in value and "id" in value:  # a deploy
        value = dict(value, id="ID" if re.fullmatch("[0-9a-f]{16}", value["id"]) else value["id"])
    if isinstance(value, dict):
        return {k: told(v) for k, v in value.items()}
    if isinstance(value, list):
        return [told(v) for v in value]
    if isinstance(value, str) and re.fullmatch(r"\d{19}", value):
        return f"T0 {(int(value) - T0) / MS:+g} ms"
    if isinstance(value, float):
        return float(f"{value:.3g}")  # libraries of mathematics differ in the last digits
    if isinstance(value, str):
        value = re.sub(r"(from|until)=\d{13}", r"\1=TIME", value)
        value = value.replace(f"127.0.0.1:{WEB.server_address[1]}", "127.0.0.1:TARGET").replace(server.home, "HOME")
    return value.replace(str(server.port), "PORT") if isinstance(value, str) else value


def golden(name, answer):
    path = os.path.join(SOURCE, "tests", "golden", "api", name + ".json")
    text = json.dumps(told(answer), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("SF_GOLDEN_WRITE"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    with open(path, encoding="utf-8") as f:
        want = f.read()
    assert text == want, f"{name}: not what was written:\n{text}"


def shown(call):
    """The JSON below a heading of docs/api.md."""
    with open(os.path.join(SOURCE, "docs", "api.md"), encoding="utf-8") as f:
        text = re.split(f"### GET(?:, POST)? {re.escape(call)}\n", f.read())[1].split("\n### ")[0]
    return json.loads(re.search(r"```json\n(.*?)```", text, re.S)[1])


def compare(where, doc, answer):
    """Same keys, same kinds of values; lists by what is in any of their elements."""
    if isinstance(doc, dict) and "…" in doc:
        assert isinstance(answer, dict), where
    elif isinstance(doc, dict):
        assert isinstance(answer, dict), (where, answer)
        for key in sorted(set(doc) ^ set(answer)):
            assert key in SOMETIMES, f"{where}: '{key}' is {'shown and not sent' if key in doc else 'sent and not shown'}"
        for key in set(doc) & set(answer):
            compare(f"{where}.{key}", doc[key], answer[key])
    elif isinstance(doc, list):
        assert isinstance(answer, list), (where, answer)
        for a in answer if doc else ():
            compare(where + "[]", doc[0], a)
    elif doc is not None and answer is not None and not isinstance(doc, str):
        assert isinstance(doc, bool) == isinstance(answer, bool) and not isinstance(answer, str), (where, doc, answer)
    elif isinstance(doc, str):
        assert answer is None or isinstance(answer, str), (where, doc, answer)


def make_test(name, path, call):
    def test():
        answer = server.json("/api/v1/" + path)
        golden(name, answer)
        if call:
            compare(name, shown(call), answer)
    globals()["test_" + name.replace("-", "_")] = test


wait_for_search()
wait_for_target()
PIN = server.post(f"/api/v1/pins/{TRACE}?for=2d&note=incident-7", b"{}", "application/json")


def test_pin():
    golden("pin", json.loads(PIN.body))
    compare("pin", shown("/api/v1/keep/{trace}")["pin"], json.loads(PIN.body))


for key, (asked, documented) in ANSWERS.items():
    make_test(key, asked, documented)
tap.run(sys.modules[__name__])
