#!/usr/bin/env python3
"""Writes docs/limits.md from src/base/limits.h: `tools/limits_doc.py > docs/limits.md`."""
import os
import re
import sys

HEAD = """# Limits

Every limit of the server and the attack or mistake it stops. Those marked "configurable" are
defaults (docs/configuration.md names the keys); the others are fixed. What is over a limit is
refused with a clear answer or cut and counted, never silently lost: see the error table in
docs/api.md and `spanflame_requests_rejected_total`, `spanflame_cut_total` and
`spanflame_spans_discarded_total` in /metrics.

This page is written from `src/base/limits.h` by `tools/limits_doc.py`.
"""


def amount(name, text):
    value = eval(text.replace("u", ""), {})  # the header's own small arithmetic
    if name.endswith("_MS"):
        return f"{value // 1000} s" if value % 1000 == 0 else f"{value} ms"
    if name.endswith("_LEN"):
        for size, unit in ((1 << 20, "MiB"), (1 << 10, "KiB")):
            if value >= size and value % size == 0:
                return f"{value // size} {unit}"
        return f"{value} B"
    return f"{value:,}"


def main():
    root = os.environ.get("SOURCE_ROOT", os.path.join(os.path.dirname(__file__), ".."))
    with open(os.path.join(root, "src/base/limits.h"), encoding="utf-8") as f:
        text = f.read().replace("\\\n", " ")
    out = [HEAD]
    pattern = re.compile(
        r"/\* --- (?P<section>.*?) --- \*/|"
        r"#define SF_LIMIT_(?P<name>\w+)\s+(?P<value>[^/]+?)\s*/\*(?P<comment>.*?)\*/", re.S)
    for m in pattern.finditer(text):
        if m["section"]:
            title = re.sub(r" \(.*", "", m["section"])
            out.append(f"\n## {title[0].upper()}{title[1:]}\n\n| limit | value | what it bounds, and why |\n|---|---|---|")
            continue
        comment = re.sub(r"\s*\n\s*\*?\s*", " ", m["comment"])
        comment = re.sub(r"\s+\*?\s*", " ", comment).strip()
        if comment.startswith("(conf) "):
            comment = comment[7:] + " (configurable)"
        name = m["name"].lower().removesuffix("_len").replace("_", " ")
        name = re.sub(r" ms$", "" if "timeout" in name else " time", name)
        out.append(f"| {name} | {amount(m['name'], m['value'])} | {comment} |")
    sys.stdout.write("\n".join(out) + "\n")


main()
