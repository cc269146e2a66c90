#!/usr/bin/env python3
"""How does the cost of a query grow with the number of spans in the store?

Fills one server with the spans of build/bench/load, stops at 1, 4, 16 and 64 million, and asks each query
several times while nothing else happens. Measured is the processor time of the whole server per question, the
middle one of the repeats; memory is the default. Prints `name value unit`: the cost at each size, and the exponent
of the growth (0: flat, 1: in proportion), which is the slope of the costs in logarithms.

  growth_bench.py [--millions 1,4 | --stores DIR,DIR] [--data DIR] [--svg FILE]

The default stays small enough for `make bench`. With --data the directory is kept, and filled only as far as it is
not yet. With --stores nothing is sent: each data directory is asked as it is, the smallest first, and the time until the
server is ready after a clean stop is printed too."""
import argparse
import glob
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse

from load_bench import LOAD, Server

REPEATS = 7
WARM_UP = 2


def cpu_ms(server):
    total = 0
    for path in glob.glob(f"/proc/{server.process.pid}/task/*/schedstat"):
        try:
            with open(path, encoding="ascii") as f:
                total += int(f.read().split()[0])
        except OSError:
            pass  # the thread ended
    return total / 1e6


def count(server):
    found = json.loads(server.get("/api/v1/services?from=now-168h&until=now"))
    return sum(service["spans"] for service in found["services"])


def settle(server):
    """Waits until merging and comparing blocks is over: two seconds with almost no processor time."""
    server.get("/api/v1/flush", "POST")
    quiet, before = 0, cpu_ms(server)
    while quiet < 4:
        time.sleep(0.5)
        now = cpu_ms(server)
        quiet = quiet + 1 if now - before < 5 else 0
        before = now


def search(text):
    now = int(time.time())
    return "/api/search?" + urllib.parse.urlencode({"q": text, "limit": 20, "start": now - 7 * 86400, "end": now + 60})


def questions(server):
    newest = json.loads(server.get(search("{ status = error }")))["traces"]
    if not newest:
        sys.exit("growth_bench: no trace with an error was found")
    end = int(newest[0]["startTimeUnixNano"]) // 10**9 + 60

    def metric(text):
        return "/api/metrics/query_range?" + urllib.parse.urlencode(
            {"q": text, "start": end - 86000, "end": end, "step": "5m"})
    return {
        "trace_by_id": "/api/traces/" + newest[-1]["traceID"],
        "absent_id": "/api/traces/0123456789abcdef0123456789abcdef",
        "errors_newest_20": search("{ status = error }"),
        "service_name_duration": search('{ resource.service.name = "cart" && name = "GET /cart/list/{id}" && '
                                        'duration > 100ms }'),
        "rare_attribute": search('{ span.enduser.id = "nobody" }'),
        "no_match": search('{ span.http.route = "/nowhere" }'),
        "regex_no_match": search('{ span.url.path =~ ".*nowhere.*" }'),
        "structural": search('{ resource.service.name = "cart" } >> { duration > 10s }'),
        "count_over_time": metric("{ } | count_over_time()"),
        "rate_by_service": metric("{ } | rate() by (resource.service.name)"),
        "p95_by_service": metric("{ } | quantile_over_time(duration, .95) by (resource.service.name)"),
        "services": f"/api/v1/services?from={end - 86000}&until={end}",
    }


def ask(server, path):
    """None: it took longer than a query may, which happens on a machine that others use."""
    before = cpu_ms(server)
    try:
        server.get(path)
    except urllib.error.HTTPError as error:
        if error.code == 504:
            return None
        if error.code != 404:
            raise
    time.sleep(0.02)  # what the answer leaves behind counts too
    return cpu_ms(server) - before


def slope(points):
    xs, ys = [math.log(n) for n, _ in points], [math.log(max(cost, 0.01)) for _, cost in points]
    mean_x, mean_y = statistics.fmean(xs), statistics.fmean(ys)
    return (sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) /
            sum((x - mean_x) ** 2 for x in xs))


def draw(costs, path):
    """Both axes in logarithms; one line per question."""
    width, height, left, top = 720, 360, 60, 20
    sizes = sorted({n for points in costs.values() for n, _ in points})
    most = max(cost for points in costs.values() for _, cost in points)
    low, high = -1, max(1, math.ceil(math.log10(most)))

    def at(n, cost):
        x = left + (width - left - 200) * (math.log(n / sizes[0]) / math.log(sizes[-1] / sizes[0]))
        y = top + (height - top - 40) * (1 - (math.log10(max(cost, 0.1)) - low) / (high - low))
        return f"{x:.1f},{y:.1f}"
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
           'font-size="12">']
    for power in range(low, high + 1):
        y = at(sizes[0], 10 ** power).split(",")[1]
        out.append(f'<path d="M{left} {y}H{width - 200}" stroke="#ddd"/>'
                   f'<text x="{left - 6}" y="{y}" text-anchor="end">{10 ** power:g} ms</text>')
    for n in sizes:
        x = at(n, 1).split(",")[0]
        out.append(f'<text x="{x}" y="{height - 20}" text-anchor="middle">{n / 1e6:g} M</text>')
    for place, (name, points) in enumerate(costs.items()):
        color = f"hsl({place * 360 // len(costs)},60%,42%)"
        line = " ".join(at(n, cost) for n, cost in points)
        y = top + 14 + place * 20
        out.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>'
                   f'<text x="{width - 185}" y="{y}" fill="{color}">{name.replace("_", " ")}</text>')
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(out) + "\n</svg>\n")


def measure(server, millions, costs):
    have = count(server)
    if have < millions * 1_000_000:
        subprocess.run([LOAD, "--url", f"http://127.0.0.1:{server.port}", "--most",
                        str(int(millions * 1_000_000 - have)), "--seconds", "86400s", "--seed", str(have + 1)],
                       check=True, stdout=subprocess.DEVNULL)
    ask_all(server, millions, costs)


def ask_all(server, millions, costs):
    """The first time costs what it costs to read; the others are what a page or a panel costs that is looked at again."""
    settle(server)
    before = cpu_ms(server)
    asked = questions(server)  # asks for errors: the first time of this question
    time.sleep(0.02)
    first = {"errors_newest_20": cpu_ms(server) - before}
    for name, path in asked.items():
        all_costs = [first[name] if name in first else ask(server, path)]
        while None not in all_costs and len(all_costs) < WARM_UP + REPEATS:
            all_costs.append(ask(server, path))
        if None in all_costs:
            print(f"growth_{name}_{millions:g}m timed out", flush=True)
            continue
        cost = statistics.median(all_costs[WARM_UP:])
        costs.setdefault(name, []).append((millions * 1_000_000, cost))
        print(f"growth_{name}_{millions:g}m {cost:.2f} ms", flush=True)
        print(f"growth_{name}_first_{millions:g}m {all_costs[0]:.2f} ms", flush=True)


def ask_stores(paths, costs):
    found = []
    for path in paths:
        server = Server(path)
        found.append((count(server), path))
        server.stop()
    for n, path in sorted(found):
        begin = time.monotonic()
        server = Server(path)
        print(f"growth_ready_{n / 1_000_000:.3g}m {time.monotonic() - begin:.2f} s", flush=True)
        try:
            ask_all(server, round(n / 1_000_000, 1), costs)
        finally:
            server.stop()


def report(costs, svg):
    for name, points in costs.items():
        if len(points) > 1:
            print(f"growth_{name}_exponent {slope(points):.2f}")
    costs = {name: points for name, points in costs.items() if len(points) > 1}
    if svg and costs:
        draw(costs, svg)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--millions", default="1,4", help="sizes to stop at, in millions of spans")
    parser.add_argument("--data", help="directory that is kept")
    parser.add_argument("--svg", help="file to draw the curves into")
    parser.add_argument("--stores", help="data directories to ask as they are")
    flags = parser.parse_args()
    costs = {}
    if flags.stores:
        ask_stores(flags.stores.split(","), costs)
        report(costs, flags.svg)
        return
    try:
        sizes = sorted(float(m) for m in flags.millions.split(","))
    except ValueError:
        sizes = []
    if not sizes or sizes[0] <= 0:
        parser.error(f"--millions {flags.millions}: give numbers above 0 with commas between them, such as 1,4,16")
    home = flags.data or tempfile.mkdtemp(prefix="spanflame-growth-bench-")
    server = Server(os.path.join(home, "data"))
    try:
        for millions in sizes:
            measure(server, millions, costs)
        report(costs, flags.svg)
    finally:
        server.stop()
        if not flags.data:
            shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
