#!/usr/bin/env python3
"""StreamingQuerier by Google's own client: progress while a query runs, deadlines, going away."""
import os
import sys
import threading
import time

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "flow")]
import toolchain  # noqa: E402
from server import Server, field, fields, first, make_span, tap  # noqa: E402

toolchain.again_with_python(__file__)

import grpc  # noqa: E402

N_TRACES = 12000
server = Server(config="limits:\n  query_time: 240s\n").start()
for _ in range(N_TRACES // 1000):
    server.send([make_span(service=f"s{i % 7}", attributes={"n": i}) for i in range(1000)])

channel = grpc.insecure_channel(f"127.0.0.1:{server.port}")


def call(method, message, **more):
    return channel.unary_stream("/tempopb.StreamingQuerier/" + method, request_serializer=None,
                                response_deserializer=None)(message, **more)


def slow(n=1500):
    """A condition that takes its time on every span, and holds."""
    return " || ".join(f"span.n = {-i}" for i in range(1, n)) + " || span.n >= 0"


def slow_sets(n=1500):
    """The same behind an operator: plain filters are answered from columns, too soon for any progress."""
    return '{ name = "nobody" } !>> { ' + slow(n) + " }"


def search(conditions, limit=N_TRACES):
    return field(4, limit) + field(8, "{ " + conditions + " }") + field(9, 1)


def trace_ids(message):
    return [first(t, 1) for n, t in fields(message) if n == 1]


def is_complete(message):
    metrics = first(message, 2)
    return first(metrics, 4) == first(metrics, 5) == 1



def test_a_long_search_tells_what_it_found_and_in_the_end_all_of_it():
    messages = list(call("Search", search(slow()), timeout=240))
    updates = [m for m in messages if not is_complete(m)]
    whole = [i for m in messages if is_complete(m) for i in trace_ids(m)]
    told = [i for m in updates for i in trace_ids(m)]
    assert len(updates) >= 1, "no progress was told"
    assert len(whole) == len(set(whole)) == N_TRACES, len(whole)
    assert told == whole[:len(told)] and told, "updates hold each trace once, newest first"
    assert messages[-len([m for m in messages if is_complete(m)]):] == [m for m in messages if is_complete(m)]


def samples(message):
    """{labels: {time: value}}"""
    return {tuple(v for n, v in fields(s) if n == 1): {first(p, 2): first(p, 1) for n, p in fields(s) if n == 2}
            for k, s in fields(message) if k == 1}


def test_long_metrics_tell_samples_that_changed_and_in_the_end_all_of_them():
    now = time.time_ns()
    request = (field(1, slow_sets() + " | count_over_time() by (resource.service.name)")
               + field(2, now - 600 * 10**9) + field(3, now + 10**9) + field(4, 60 * 10**9))
    messages = list(call("MetricsQueryRange", request, timeout=240))
    assert len(messages) >= 2 and is_complete(messages[-1]) and not is_complete(messages[0])
    merged = {}
    for m in messages[:-1]:
        for labels, values in samples(m).items():
            assert values, "a series without a change was sent"
            merged.setdefault(labels, {}).update(values)
    final = samples(messages[-1])
    assert len(final) == 7 and merged.keys() <= final.keys() and merged
    for labels, values in merged.items():
        assert values.keys() <= final[labels].keys()


def test_a_query_of_arithmetic_tells_how_far_it_got():
    now = time.time_ns()
    one = "(" + slow_sets(400) + " | rate())"  # twice: as long as one query of others
    messages = list(call("MetricsQueryInstant", field(1, f"{one} / {one}") + field(2, now - 600 * 10**9)
                         + field(3, now + 10**9), timeout=240))
    n_series = [sum(n == 1 for n, _ in fields(m)) for m in messages]
    assert is_complete(messages[-1]) and n_series[-1] == 1 and len(messages) > 1 and not any(n_series[:-1]), n_series


def test_a_deadline_ends_the_stream_in_time():
    begin = time.monotonic()
    try:
        list(call("Search", search(" || ".join(f"span.n * 2 = {-i}" for i in range(1, 4000))), timeout=1))
        raise AssertionError("it was in time")
    except grpc.RpcError as e:
        assert e.code() == grpc.StatusCode.DEADLINE_EXCEEDED, e
    assert time.monotonic() - begin < 5
    assert server.get("/api/search?limit=1", timeout=10).status == 200, "the thread is free again"


def test_who_goes_away_frees_the_thread():
    calls = [call("Search", search(slow(4000)), timeout=50) for _ in range(6)]
    time.sleep(0.5)
    for c in calls:
        c.cancel()
    begin = time.monotonic()
    assert server.get("/api/search?limit=1", timeout=20).status == 200
    assert time.monotonic() - begin < 5, "queries nobody waits for still run"


def test_who_does_not_read_holds_nobody_up():
    reader = call("Search", search(slow()), timeout=50)
    answers = []
    thread = threading.Thread(target=lambda: answers.append(server.get("/api/search?limit=1", timeout=40).status))
    thread.start()
    thread.join(40)
    assert answers == [200]
    reader.cancel()


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
