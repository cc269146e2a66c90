#!/usr/bin/env python3
"""clicks_page.py [long]: starts the servers that the tests examine, fills them, and lets clicks.mjs click through the page in a
real browser. With long, the tests of `make check-all` alone; PAGE_TEST='words|other words' picks of both."""
import contextlib
import os
import subprocess
import sys

SOURCE = os.environ["SOURCE_ROOT"]
sys.path[:0] = [os.path.join(SOURCE, "tests", "flow"), os.path.dirname(os.path.abspath(__file__))]
from server import PROGRAM, Server  # noqa: E402
import chromium  # noqa: E402
import seed  # noqa: E402


def token_file(folder):
    """(path, a token that may read)"""
    done = subprocess.run([PROGRAM, "token", "new", "--name", "page", "--scopes", "read"], capture_output=True,
                          text=True, check=True)
    token, line = [text for text in done.stdout.splitlines() if text and not text.startswith("#")]
    path = os.path.join(folder, "tokens")
    with open(path, "w", encoding="ascii") as f:
        os.chmod(path, 0o600)
        f.write(line + "\n")
    return path, token


OLD = "retention: {tail_delay: 0s}\nstore: {flush_interval: 1s}\n"  # hours that are over are thinned
SCRAPE = """alerts: {interval: 1s, rules: [{name: any-span, traceql: "{ } | count_over_time()", above: 0, window: 1d, labels: {team: "<b>"}}]}
""" + "scrape: [{url: 'http://127.0.0.1:1/debug/pprof/profile', service: scraped, interval: 1s}]\n"


def address(server):
    return f"http://127.0.0.1:{server.port}"


def add_long(start, full, story):
    """What only long tests examine."""
    old = start(OLD)
    story["old"] = address(old)
    story["blank"] = address(start(""))
    story["ids"]["thinned"], story["ids"]["thinnedSpan"] = seed.thinned_trace(old)
    story["ids"]["big"] = seed.big_trace(full)
    seed.big_profile(full)


chromium.need()
is_long = "long" in sys.argv
with contextlib.ExitStack() as servers:
    def begin(text):
        return servers.enter_context(Server(text))
    main = begin(SCRAPE)
    chromium.need_page(main)
    told = {"url": address(main), "ids": seed.fill(main), "program": PROGRAM, "part": "long" if is_long else "short"}
    seed.deploys(main)
    empty = begin("")
    tokens, told["token"] = token_file(empty.home)
    locked = begin(f"auth:\n  token_file: {tokens}\n")
    told.update(empty=address(empty), emptyPid=empty.process.pid, locked=address(locked))
    if is_long or "PAGE_TEST" in os.environ:
        add_long(begin, main, told)
    code = chromium.drive("clicks.mjs", told, "page-shots")
sys.exit(code)
