#!/usr/bin/env python3
"""Stores that are unlike the demo, each examined in a real browser: 200 services, one service, profiles only, no profiles, a
missing root, clocks that contradict each other, 30 days, a trace of 10,000 spans."""
import os
import sys
import time

SOURCE = os.environ["SOURCE_ROOT"]
sys.path[:0] = [os.path.join(SOURCE, "tests", "flow"), os.path.dirname(os.path.abspath(__file__))]
from server import Server  # noqa: E402
import chromium  # noqa: E402
import seed  # noqa: E402

MS, S = 10**6, 10**9


def request(number, start, services, ms=40, **more):
    """A chain of services, one span each."""
    spans = []
    for depth, service in enumerate(services):
        spans.append(dict({"trace_id": seed.ident(0xc1, number, 16), "span_id": seed.ident(0xc2, number * 32 + depth, 8),
                           "parent": spans[-1]["span_id"] if spans else None, "name": f"GET /{service}", "service": service, "kind": 2,
                           "start": start + depth * MS, "end": start + (ms - depth) * MS}, **more))
    return spans


def many(server):
    now = time.time_ns()
    spans = []
    for i in range(200):
        spans += request(i, now - 60 * S - i * S, [f"edge-{i % 5}", f"service-{i:03d}", f"store-{i % 7}"], ms=20 + i)
    for at in range(0, len(spans), 200):
        server.send(spans[at:at + 200])


def days(server):
    """Something in each six hours of 30 days."""
    now = time.time_ns()
    spans = []
    for i in range(120):
        spans += request(5000 + i, now - 120 * S - i * 6 * 3600 * S, ["long-lived"], ms=30 + i % 40)
    for at in range(0, len(spans), 60):
        server.send(spans[at:at + 60])


def odd_traces(server):
    """Ids of one without its root, and of one whose second host is 300 ms ahead."""
    now = time.time_ns() - 30 * S
    headless = request(9001, now, ["front", "middle", "back"])[1:]
    skewed = request(9002, now, ["front", "ahead"])
    for span in skewed[1:]:
        span["start"] += 300 * MS
        span["end"] += 300 * MS
    server.send(headless + skewed)
    return headless[0]["trace_id"].hex(), skewed[0]["trace_id"].hex()


chromium.need()
with Server() as crowd, Server() as lone, Server() as profiles, Server() as mixed:
    chromium.need_page(crowd)
    many(crowd)
    for number in range(20):
        lone.send(request(number, time.time_ns() - (5 + number) * S, ["alone"], ms=30 + number))
    seed.send_profile(profiles, "batch", {"main;load;parse": 700 * MS, "main;store": 300 * MS})
    days(mixed)
    headless, skewed = odd_traces(mixed)
    big = seed.big_trace(mixed)
    address = {name: f"http://127.0.0.1:{s.port}" for name, s in
               (("crowd", crowd), ("lone", lone), ("profiles", profiles), ("mixed", mixed))}
    code = chromium.drive("odd.mjs", {"url": address["mixed"], "at": address, "headless": headless, "skewed": skewed, "big": big},
                          "page-shots/odd")
sys.exit(code)
