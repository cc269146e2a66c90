#!/usr/bin/env python3
"""Starts a server, fills it, and lets browser.mjs click through the page in a real browser."""
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


chromium.need()
OLD = "retention: {tail_delay: 0s}\nstore: {flush_interval: 1s}\n"  # hours that are over are thinned
SCRAPE = """alerts: {interval: 1s, rules: [{name: any-span, traceql: "{ } | count_over_time()", above: 0, window: 1d, labels: {team: "<b>"}}]}
""" + "scrape: [{url: 'http://127.0.0.1:1/debug/pprof/profile', service: scraped, interval: 1s}]\n"
with Server(SCRAPE) as full, Server() as empty, Server(OLD) as old:
    chromium.need_page(full)
    tokens, token = token_file(empty.home)
    with Server(f"auth:\n  token_file: {tokens}\n") as locked:
        ids = seed.fill(full)
        ids["thinned"], ids["thinnedSpan"] = seed.thinned_trace(old)
        ids["big"] = seed.big_trace(full)
        seed.deploys(full)
        seed.big_profile(full)
        code = chromium.drive("browser.mjs", {
            "url": f"http://127.0.0.1:{full.port}", "empty": f"http://127.0.0.1:{empty.port}",
            "locked": f"http://127.0.0.1:{locked.port}", "token": token, "ids": ids,
            "old": f"http://127.0.0.1:{old.port}",
            "emptyPid": empty.process.pid}, "page-shots")
sys.exit(code)
