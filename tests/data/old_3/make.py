#!/usr/bin/env python3
"""make.py - wrote data.tar.xz and its golden answers, once. README.md says with which commit, and why never again.

It sends with the functions of old_1's make.py; what is sent is here: attributes with so many values that format 3 of span
blocks keeps a filter of them for every 65,536 spans, and a filter of span ids."""
import importlib.util
import os
import signal
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location("old_1", os.path.join(HERE, "..", "old_1", "make.py"))
old_1 = importlib.util.module_from_spec(spec)
spec.loader.exec_module(old_1)
import old_data  # noqa: E402  old_1 has set the path
import old_values  # noqa: E402
from old_values import Orders  # noqa: E402

S, MS = 10**9, 10**6
PER_REQUEST = 2000


def orders(m, place):
    """Traces of ten spans, two of which have an order that no other has, and one customer of 3,000."""
    p, spans = Orders(place), []
    for n in range(p.n_spans):
        begin = p.start(n)
        own = {} if n % 5 else {"order.path": p.path(n), "customer": f"customer-{n // 5 % 3000}", "http.route": f"/orders/{n // 5 % 7}"}
        spans.append(old_1.span(p.trace(n // 10), p.span(n), "order", begin, begin + 5 * MS, p.span(n - n % 10) if n % 10 else "", 2, own))
        if len(spans) == PER_REQUEST or n + 1 == p.n_spans:
            m.spans([old_1.resource("orders", spans)])
            spans = []
    old_1.scratch(m, p.base, 0x70 + list(old_values.PLACES).index(place))


def make(data):
    m = old_1.Maker(data)
    for place, level in (("hour", 1), ("fresh", 0)):
        orders(m, place)
        m.flush()
        m.wait(place, lambda found, level=level: level in {b.level for b in found if b.kind == "spans"} and
               (level == 0 or not [b for b in found if b.level == 0]))
    orders(m, "log")
    m.server.process.send_signal(signal.SIGKILL)
    m.server.process.wait()
    found = old_data.blocks(data)
    for b in found:
        print(b)
    assert {b.level for b in found if b.kind == "spans"} == {0, 1}
    m.faults.close()


def main():
    archive = os.path.join(HERE, "data.tar.xz")
    if os.path.exists(archive):
        sys.exit(f"{archive} is there, and is never written again: a new format gets a folder of its own")
    with tempfile.TemporaryDirectory() as folder:
        make(os.path.join(folder, "data"))
        old_1.pack(os.path.join(folder, "data"), archive)
    print(os.path.getsize(archive), "bytes; the golden answers: tests/flow/old_data_flow.py --add")


if __name__ == "__main__":
    main()
