#!/usr/bin/env python3
"""The web page: its files come from the binary, compressed, cacheable, and allowed to load nothing else."""
import gzip
import os
import re
import sys

sys.path.insert(0, os.path.dirname(__file__))
from server import Server, tap  # noqa: E402

BUNDLE_MAX = 150_000  # gzip, all files together
KINDS = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml", "txt": "text/plain"}
server = Server().start()
INDEX = server.get("/").text
ASSETS = re.findall(r'"(/assets/[^"]+)"', INDEX)
for script in [a for a in ASSETS if a.endswith(".js")]:  # and the scripts that it loads when they are needed
    ASSETS += ["/assets/" + name for name in sorted(set(re.findall(r'import\("\./([\w-]+\.js)"\)', server.get(script).text)))]
HAS_PAGE = "built without its web page" not in INDEX


def test_the_page_may_load_nothing_from_elsewhere():
    answer = server.get("/")
    assert answer.status == 200 and answer.headers["Content-Type"] == "text/html; charset=utf-8"
    text = answer.headers["Content-Security-Policy"]
    policy = dict(part.strip().split(" ", 1) for part in text.split(";"))
    assert policy["default-src"] == "'none'" and policy["script-src"] == "'self'" and policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'" and "unsafe" not in text
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "http:" not in INDEX and "https:" not in INDEX


def test_files_come_with_their_types_compressed_or_not():
    if not HAS_PAGE:
        raise tap.Skip("this server was built without its page")
    assert len(ASSETS) >= 3 and sum(a.endswith(".js") for a in ASSETS) >= 2, (INDEX, ASSETS)
    total = 0
    for path in ["/", *ASSETS]:
        plain = server.get(path)
        assert plain.status == 200 and "Content-Encoding" not in plain.headers, path
        packed = server.get(path, headers={"Accept-Encoding": "gzip"})
        assert packed.status == 200 and packed.headers["Content-Encoding"] == "gzip", path
        assert gzip.decompress(packed.body) == plain.body, path
        assert packed.headers["Vary"] == "accept-encoding" and "Content-Security-Policy" in packed.headers
        if path != "/":
            assert packed.headers["Content-Type"].split(";")[0] == KINDS[path.rsplit(".", 1)[1]], path
            assert "immutable" in packed.headers["Cache-Control"], path
        total += len(packed.body)
    print(f"# the page is {total} bytes compressed")
    assert total <= BUNDLE_MAX, total


def test_what_a_browser_has_is_not_sent_again():
    if not HAS_PAGE:
        raise tap.Skip("this server was built without its page")
    for path in ["/", *ASSETS]:
        tag = server.get(path).headers["ETag"]
        answer = server.get(path, headers={"If-None-Match": tag})
        assert answer.status == 304 and answer.body == b"", path
        assert server.get(path, headers={"If-None-Match": '"other"'}).status == 200


def test_unknown_files_are_not_there_and_every_view_is_the_page():
    assert server.get("/assets/none.js").status == 404
    assert server.get("/assets/../etc/passwd").status == 404
    assert server.get("/?view=trace&id=1").text == INDEX


tap.run(sys.modules[__name__])
