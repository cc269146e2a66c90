#!/usr/bin/env python3
"""One heavy query blocks nobody: a trace by id is answered while more slow searches run and wait than there are threads,
another client's search as well, and queries whose client is gone stop."""
import http.client
import json
import os
import sys
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(__file__))
from server import Server, make_span, tap  # noqa: E402

N_SLOW = 4 * (os.cpu_count() or 1)
HERE, THERE = "127.0.0.1", "127.0.0.2"  # two clients
server = Server(config="limits:\n  query_time: 600s\n  total_timeout: 900s\n").start()
TRACE = os.urandom(16)
for _ in range(40):
    server.send([make_span(service=f"s{i % 7}", attributes={"n": i}) for i in range(1000)])
server.send([make_span(TRACE, service="one", name="alone")])
ROUTE = 'spanflame_requests_total{route="/api/search",status="%d"}'


def slow(n):
    """No span satisfies it, and each takes its time to fail."""
    return "{ " + " || ".join(f"span.n * 2 + {i} = -1" for i in range(1, n)) + " }"


class Client:
    """A request on its way, from an address of its own."""

    def __init__(self, path, address=HERE, headers=None, **params):
        self.conn = http.client.HTTPConnection("127.0.0.1", server.port, timeout=300, source_address=(address, 0))
        self.conn.request("GET", path + "?" + urllib.parse.urlencode(params), headers=headers or {})

    def answer(self):
        answer = self.conn.getresponse()
        answer.body = answer.read()
        self.conn.close()
        return answer

    def leave(self):
        self.conn.close()


def n_ended():
    return sum(server.metric(ROUTE % status) for status in (200, 499, 504))


def wait_for(what, seconds=120):
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.05)
    assert what(), server.metrics()


def depth(queue="query"):
    return server.metric(f'spanflame_queue_depth{{queue="{queue}"}}')


def block(address=HERE, n=N_SLOW, **more):
    """Slow searches of one client: one or more run, the others wait."""
    before = depth()
    clients = [Client("/api/search", address, q=slow(3000), **more) for _ in range(n)]
    wait_for(lambda: depth() >= before + n - max(1, (os.cpu_count() or 1) - 2))
    return clients


def leave(clients, n_before):
    for c in clients:
        c.leave()
    wait_for(lambda: server.metric(ROUTE % 499) >= n_before + len(clients))
    assert depth() == 0


def test_a_trace_by_id_does_not_wait_for_searches():
    before, ended = server.metric(ROUTE % 499), n_ended()
    clients = block()
    span = f"{TRACE.hex()}:"
    for path in ("/api/traces/", "/api/v2/traces/", "/api/v1/trace/", "/jaeger/api/traces/", "/api/v3/traces/"):
        answer = Client(path + TRACE.hex()).answer()
        assert answer.status == 200 and b"alone" in answer.body, (path, answer.status, answer.body[:200])
    spans = json.loads(Client("/api/v1/trace/" + TRACE.hex()).answer().body)["spans"]
    span = spans[0].get("spanId") or spans[0].get("id")
    for path in (f"/api/v1/spans/{TRACE.hex()}/{span}/ledger", f"/api/v1/spans/{TRACE.hex()}/{span}/profile",
                 f"/api/v1/traces/{TRACE.hex()}/flame"):
        answer = Client(path).answer()
        assert answer.status in (200, 404), (path, answer.status, answer.body[:200])
    for path in ("/api/v2/search/tags", "/api/v2/search/tag/resource.service.name/values"):
        assert Client(path).answer().status == 200, path
        assert Client(path, q="{ }").answer().status == 200, path
    assert Client("/status/services").answer().status == 200 and Client("/ready").answer().status == 200
    assert n_ended() == ended, "the searches were over: nothing was shown"
    leave(clients, before)


def test_another_client_gets_its_share():
    before, ended = server.metric(ROUTE % 499), n_ended()
    clients = block()
    for _ in range(3):
        answer = Client("/api/search", THERE, q='{ resource.service.name = "one" }').answer()
        assert answer.status == 200 and len(json.loads(answer.body)["traces"]) == 1, answer.body
    assert n_ended() == ended + 3, "the searches were over: nothing was shown"
    leave(clients, before)


def test_one_client_may_not_fill_the_queue():
    before = server.metric(ROUTE % 499)
    clients = block(n=64)
    more = [Client("/api/search", q=slow(3000)) for _ in range(N_SLOW)]
    answers = [c.answer() for c in more[-2:]]
    for answer in answers:
        assert answer.status == 429 and int(answer.headers["retry-after"]) >= 1, (answer.status, answer.body)
        assert b"queries of this client are waiting" in answer.body, answer.body
    answer = Client("/api/search", THERE, q='{ resource.service.name = "one" }').answer()
    assert answer.status == 200, (answer.status, answer.body)
    n_taken = len(clients) + len(more) - server.metric(ROUTE % 429)
    for c in clients + more:
        c.leave()
    wait_for(lambda: server.metric(ROUTE % 499) >= before + n_taken)
    assert depth() == 0


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
