#!/usr/bin/env python3
"""How fast is the page in a browser: how much work has the main thread for a step of the pointer and for a zoom in a flame
graph of 100,000 bars and for a scroll in a waterfall of 10,000 spans, how long does a frame of these take, and how long after
the server's answer is the first of it on screen? And how large is what the browser loads? Targets: 16 ms, 16.7 ms, 300 ms, 150 KB."""
import gzip
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("SOURCE_ROOT", ROOT)
os.environ.setdefault("BUILD_ROOT", os.path.join(ROOT, "build"))
os.environ.setdefault("SPANFLAME", os.path.join(ROOT, "build", "spanflame"))
sys.path[:0] = [os.path.join(ROOT, "tests", "flow"), os.path.join(ROOT, "tests", "page")]
from server import Server  # noqa: E402
import chromium  # noqa: E402
import seed  # noqa: E402

chromium.need()
with Server() as server:
    chromium.need_page(server)
    ids = seed.fill(server)
    ids["big"] = seed.big_trace(server)
    seed.big_profile(server)
    page = server.get("/").text
    loaded = [page.encode()] + [server.get(path, {"Accept-Encoding": "identity"}).body
                                for path in re.findall(r'"(/assets/[^"]+\.(?:js|css))"', page)]
    print(f"page_bundle {sum(len(gzip.compress(b, 9)) for b in loaded) / 1000:.0f} KB")
    sys.stdout.flush()
    sys.exit(chromium.drive("../../bench/page_bench.mjs", {"url": f"http://127.0.0.1:{server.port}", "ids": ids},
                            "page-shots"))
