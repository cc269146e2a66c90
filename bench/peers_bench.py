#!/usr/bin/env python3
"""What does the same question about the same data cost here and in another store?

Sends the same spans (and profiles, for Pyroscope) to a Spanflame of its own and to every server whose address is
given, checks that both sides have all of it, asks both the same queries, and prints `name ours theirs unit ratio`.
Builds and starts nothing but Spanflame. Addresses come from the environment:

  PEER_TEMPO=http://HOST:3200          and PEER_TEMPO_OTLP=http://HOST:4318
  PEER_JAEGER=http://HOST:16686        and PEER_JAEGER_OTLP=http://HOST:4318
  PEER_VICTORIATRACES=http://HOST:10428   takes OTLP at /insert/opentelemetry, speaks Jaeger's API and LogsQL
  PEER_CLICKHOUSE=http://HOST:8123     and PEER_CLICKHOUSE_OTLP=..., a Collector that writes otel_traces
  PEER_PYROSCOPE=http://HOST:4040

PEER_NAME_FLUSH=URL is asked with POST after sending, and Spanflame is flushed, too; without it both sides answer from where
recent data happens to be, which for Spanflame is memory. PEER_NAME_PID=N, of a server on this machine, adds its processor time to the clock's; without it only the clock is
compared. PEERS_SPANS (200000) and PEERS_SAMPLES (200000) say how much is sent. A server that has other data already
fails the check of counts: start it empty."""
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from load_bench import LOAD, Server

SPANS = int(os.environ.get("PEERS_SPANS", "200000"))
SAMPLES = int(os.environ.get("PEERS_SAMPLES", "200000"))
REPEATS, WARM_UP, TRACES = 5, 1, 20
WAIT_S = int(os.environ.get("PEERS_WAIT", "180"))  # until what was sent can be found


class Side:
    def __init__(self, base, pid=None):
        self.base, self.pid = base.rstrip("/"), pid

    def get(self, path, body=None):
        request = urllib.request.Request(self.base + path, data=body)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.read().decode()

    def cpu_ms(self):
        total = 0
        for path in glob.glob(f"/proc/{self.pid}/task/*/schedstat"):
            with open(path, encoding="ascii") as f:
                total += int(f.read().split()[0])
        return total / 1e6

    def cost(self, ask):
        """Median of clock and processor time, in ms, and the last answer."""
        clocks, cpus, answer = [], [], None
        for _ in range(WARM_UP + REPEATS):
            cpu, clock = self.cpu_ms() if self.pid else 0, time.monotonic()
            answer = ask(self)
            clocks.append((time.monotonic() - clock) * 1000)
            time.sleep(0.02)
            cpus.append(self.cpu_ms() - cpu if self.pid else 0)
        return statistics.median(clocks[WARM_UP:]), statistics.median(cpus[WARM_UP:]), answer


def query(path, **params):
    return path + "?" + urllib.parse.urlencode(params)


# ---- what servers are asked, in the API they speak ----

class Tempo:
    """Ours too."""
    def __init__(self, prefix=""):
        self.prefix = prefix

    def count(self, side, start, end):
        found = json.loads(side.get(query(self.prefix + "/api/metrics/query_range", q="{ } | count_over_time()", start=start,
                                          end=end, step="60s")))
        return round(sum(float(s.get("value", 0)) for series in found["series"] for s in series["samples"]))

    def spans(self, side, trace):
        found = json.loads(side.get(self.prefix + "/api/traces/" + trace))
        batches = found.get("batches") or found.get("resourceSpans") or found.get("trace", {}).get("resourceSpans", [])
        return sum(len(s["spans"]) for b in batches for s in b.get("scopeSpans", []))

    def search(self, side, text, start, end):
        found = json.loads(side.get(query(self.prefix + "/api/search", q=text, limit=20, start=start, end=end)))
        return [t["traceID"].rjust(32, "0") for t in found.get("traces") or []]

    def questions(self, trace, start, end):
        def searching(text):
            return lambda side: self.search(side, text, start, end)

        def metric(text):
            return lambda side: side.get(query(self.prefix + "/api/metrics/query_range", q=text, start=start, end=end, step="15s"))
        return {"trace_by_id": lambda side: self.spans(side, trace),
                "search_errors": searching("{ status = error }"),
                "search_service_duration": searching('{ resource.service.name = "cart" && duration > 100ms }'),
                "search_regex": searching('{ span.url.path =~ ".*/list.*" }'),
                "count_over_time": metric("{ } | count_over_time()"),
                "rate_by_service": metric("{ } | rate() by (resource.service.name)"),
                "p95_by_service": metric("{ } | quantile_over_time(duration, .95) by (resource.service.name)")}


class Jaeger:
    """Of VictoriaTraces too, below another path. Has no call that counts: traces by id are compared."""
    def __init__(self, prefix=""):
        self.prefix = prefix

    def count(self, _side, _start, _end):
        return None

    def spans(self, side, trace):
        return len(json.loads(side.get(f"{self.prefix}/api/traces/{trace}"))["data"][0]["spans"])

    def questions(self, trace, start, end):
        def searching(**more):
            return lambda side: len(json.loads(side.get(query(self.prefix + "/api/traces", service="cart", limit=20,
                                                              start=start * 10**6, end=end * 10**6, **more)))["data"] or [])
        return {"trace_by_id": lambda side: self.spans(side, trace),
                "search_service": searching(),
                "search_service_duration": searching(minDuration="100ms"),
                "search_errors": searching(tags='{"error":"true"}'),
                "services": lambda side: side.get(self.prefix + "/api/services")}


class Victoria(Jaeger):
    def count(self, side, start, end):
        found = side.get(query("/select/logsql/query", query="* | stats count() n", start=start, end=end))
        return int(json.loads(found.splitlines()[0])["n"])


class Clickhouse:
    def sql(self, side, text):
        return side.get("/", text.encode())

    def count(self, side, _start, _end):
        return int(self.sql(side, "SELECT count() FROM otel_traces"))

    def spans(self, side, trace):
        return int(self.sql(side, f"SELECT count() FROM otel_traces WHERE TraceId = '{trace}'"))

    def questions(self, trace, _start, _end):
        def asking(text):
            return lambda side: self.sql(side, text)
        return {"trace_by_id": asking(f"SELECT * FROM otel_traces WHERE TraceId = '{trace}' FORMAT JSON"),
                "search_errors": asking("SELECT DISTINCT TraceId, Timestamp FROM otel_traces WHERE StatusCode = 'Error' "
                                        "ORDER BY Timestamp DESC LIMIT 20"),
                "search_service_duration": asking("SELECT TraceId, Timestamp FROM otel_traces WHERE ServiceName = 'cart' AND "
                                                  "Duration > 100000000 ORDER BY Timestamp DESC LIMIT 20"),
                "search_regex": asking("SELECT TraceId, Timestamp FROM otel_traces WHERE "
                                       "match(SpanAttributes['url.path'], '/list') ORDER BY Timestamp DESC LIMIT 20"),
                "count_over_time": asking("SELECT toStartOfInterval(Timestamp, INTERVAL 15 SECOND) t, count() FROM otel_traces "
                                          "GROUP BY t ORDER BY t"),
                "rate_by_service": asking("SELECT toStartOfInterval(Timestamp, INTERVAL 15 SECOND) t, ServiceName, count() / 15 "
                                          "FROM otel_traces GROUP BY t, ServiceName ORDER BY t"),
                "p95_by_service": asking("SELECT toStartOfInterval(Timestamp, INTERVAL 15 SECOND) t, ServiceName, "
                                         "quantile(.95)(Duration) FROM otel_traces GROUP BY t, ServiceName ORDER BY t")}


# name: how it is asked, how we are asked the same, what its OTLP address has in front of /v1/traces
TRACE_PEERS = {"tempo": (Tempo(), Tempo(), ""), "jaeger": (Jaeger(), Jaeger("/jaeger"), ""),
               "victoriatraces": (Victoria("/select/jaeger"), Jaeger("/jaeger"), "/insert/opentelemetry"),
               "clickhouse": (Clickhouse(), Tempo(), "")}


# ---- sending ----

def send(url, *flags):
    out = subprocess.run([LOAD, "--url", url, "--seconds", "3600s", "--seed", "17", "--connections", "1", *flags],
                         capture_output=True, text=True, check=False)
    found = re.search(r"^load_(?:spans|samples) ([\d.]+)", out.stdout, re.M)
    if out.returncode or not found:
        sys.exit(f"peers_bench: sending to {url} failed: {out.stderr.strip() or out.stdout.strip()}")
    return float(found.group(1))


def wait_for(what, is_there):
    end = time.monotonic() + WAIT_S
    while not is_there():
        if time.monotonic() > end:
            sys.exit(f"peers_bench: {what}: not there after {WAIT_S} s")
        time.sleep(1)


def say(peer, name, ours, theirs, has_pid):
    print(f"{peer}_{name}_clock {ours[0]:.2f} {theirs[0]:.2f} ms {theirs[0] / max(ours[0], 0.01):.1f}x", flush=True)
    if has_pid:
        print(f"{peer}_{name}_cpu {ours[1]:.2f} {theirs[1]:.2f} ms {theirs[1] / max(ours[1], 0.01):.1f}x", flush=True)


# ---- both sides ----

def has_all(api, side, start, sent):
    try:
        found = api.count(side, start, int(time.time()) + 60)
    except (urllib.error.HTTPError, ValueError, KeyError, IndexError):
        return False
    return found is None or found >= sent


def compare_traces(peer, ours, theirs, apis, start, sent):
    api, own = apis
    wait_for(f"{peer}: {sent:.0f} spans", lambda: has_all(api, theirs, start, sent))
    end = int(time.time()) + 60
    here, there = Tempo().count(ours, start, end), api.count(theirs, start, end)
    print(f"{peer}_spans {here} {'-' if there is None else there} spans", flush=True)
    if here != sent or there not in (None, sent):
        sys.exit(f"peers_bench: {peer}: {sent:.0f} spans were sent; we have {here}, they have {there}")
    traces = Tempo().search(ours, "{ status = error }", start, end)[:TRACES]
    for trace in traces:
        a, b = Tempo().spans(ours, trace), api.spans(theirs, trace)
        if a != b:
            sys.exit(f"peers_bench: {peer}: trace {trace} has {a} spans here and {b} there")
    print(f"{peer}_traces_equal {len(traces)} {len(traces)} traces", flush=True)
    mine, other = own.questions(traces[0], start, end), api.questions(traces[0], start, end)
    for name in [n for n in mine if n in other]:
        say(peer, name, ours.cost(mine[name]), theirs.cost(other[name]), theirs.pid)


def compare_profiles(ours, theirs, start, sent):
    def render(side):
        return json.loads(side.get(query("/pyroscope/render", query="process_cpu:cpu:nanoseconds:cpu:nanoseconds{}", until="now",
                                         format="json", **{"from": start})))

    def total(side):
        try:
            return render(side)["flamebearer"]["numTicks"]
        except (urllib.error.HTTPError, KeyError):
            return -1
    wait_for(f"pyroscope: {sent:.0f} samples", lambda: total(theirs) == total(ours) > 0)
    print(f"pyroscope_total {total(ours)} {total(theirs)} ns", flush=True)
    say("pyroscope", "flame_graph", ours.cost(render), theirs.cost(render), theirs.pid)


def flush_both(peer, server):
    """Files on one side and memory on the other would compare two different things."""
    url = os.environ.get(f"PEER_{peer.upper()}_FLUSH")
    if url:
        request = urllib.request.Request(url, method="POST", data=b"", headers={"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=300).close()
        server.get("/api/v1/flush", "POST")


def run(peers, home):
    for peer, base in peers.items():
        theirs = Side(base, os.environ.get(f"PEER_{peer.upper()}_PID"))
        server = Server(os.path.join(home, peer))
        try:
            ours, start = Side(f"http://127.0.0.1:{server.port}", server.process.pid), int(time.time()) - 60
            if peer == "pyroscope":
                flags = ["--profiles", "--most", str(SAMPLES)]
                sent = send(ours.base, *flags)
                send(theirs.base, *flags)
                flush_both(peer, server)
                compare_profiles(ours, theirs, start, sent)
                continue
            api, own, prefix = TRACE_PEERS[peer]
            sent = send(ours.base, "--most", str(SPANS))
            again = send(os.environ.get(f"PEER_{peer.upper()}_OTLP", theirs.base).rstrip("/") + prefix, "--most", str(SPANS))
            if sent != again:
                sys.exit(f"peers_bench: {peer}: {sent:.0f} spans were sent here and {again:.0f} there")
            flush_both(peer, server)
            compare_traces(peer, ours, theirs, (api, own), start, sent)
        finally:
            server.stop()


def main():
    names = [*TRACE_PEERS, "pyroscope"]
    peers = {name: os.environ[f"PEER_{name.upper()}"] for name in names if os.environ.get(f"PEER_{name.upper()}")}
    if not peers:
        print("peers_bench: no address given: set one of " + ", ".join(f"PEER_{n.upper()}" for n in names) +
              " (the file says how)")
        return
    home = tempfile.mkdtemp(prefix="spanflame-peers-bench-")
    try:
        run(peers, home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
