#!/usr/bin/env python3
"""Writes docs/compatibility.md from what the tests of clients said: tools/compatibility.py [TESTLOG.json].

The log is meson's (build/meson-logs/testlog.json) of a run of the suite clients; several may be given, and the last word on
a test holds. Rows are in tests/clients/compatibility.json; versions are read from the files that pin them. A row
whose test did not run reports it."""
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CLIENTS = os.path.join(ROOT, "tests", "clients")
HEAD = """# Compatibility

Written by `tools/compatibility.py` from the results of the tests in `tests/clients`; do not edit. "Match quality" is the best
that a span's samples reach with this client ([glossary](glossary.md)).

"""


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def version(folder, package):
    """As the folder's files pin it."""
    if folder == "docs/rust.md":  # the page's Cargo.toml
        return re.search(rf'^{re.escape(package)} = .*?"=([\d.]+)"', read(os.path.join(ROOT, folder)), re.M)[1]
    at = os.path.join(CLIENTS, folder)
    if os.path.exists(os.path.join(at, "package.json")):
        return json.loads(read(os.path.join(at, "package.json")))["dependencies"][package]
    name = re.escape(package)
    for file, pattern in (("go.mod", rf"^(?:\trequire )?\s*{name} v(\S+)"), ("requirements.txt", rf"^{name}==(\S+)"),
                          ("pom.xml", rf"<artifactId>{name}</artifactId>\s*<version>([^<]+)")):
        path = os.path.join(at, file)
        found = re.search(pattern, read(path), re.M) if os.path.exists(path) else None
        if found:
            return found[1]
    raise SystemExit(f"compatibility: no version of {package} in tests/clients/{folder}")


def results(paths):
    """{"page: the go page": ("passed" or "skipped: why" or "failed")}"""
    out = {}
    for path in paths:
        for line in read(path).splitlines():
            test = json.loads(line)
            name = re.search(r"(\w+) clients$", test["name"])
            if not name:
                continue
            whole = re.match(r"1\.\.0 # SKIP (.*)", test.get("stdout") or "")
            if whole:
                out[f"{name[1]}: "] = f"skipped: {whole[1]}"
            for said in re.finditer(r"^(not ok|ok) \d+ - (.*?)(?: # SKIP (.*))?$", test.get("stdout") or "", re.M):
                verdict = "failed" if said[1] == "not ok" else f"skipped: {said[3]}" if said[3] else "passed"
                out[f"{name[1]}: {said[2]}"] = verdict
    return out


def main():
    rows = json.loads(read(os.path.join(CLIENTS, "compatibility.json")))
    found = results(sys.argv[1:] or [os.path.join(ROOT, "build", "meson-logs", "testlog.json")])
    text = HEAD
    for title, about, key in (("Clients", "client, version", "clients"), ("Snippets of the articles", "snippet", "snippets")):
        text += f"## {title}\n\n| {about} | what works | match quality | what does not, and why | test |\n|---|---|---|---|---|\n"
        for row in rows[key]:
            name = row["name"]
            if "package" in row:
                name += f" {version(row['folder'], row['package'])}"
            verdicts = [found.get(test) or found.get(test.split(": ")[0] + ": ", "not run") for test in row["tests"]]
            verdict = next((v for v in verdicts if v != "passed"), "passed") if verdicts else row.get("untested", "no test")
            tests = ", ".join(f"`{t}`" for t in row["tests"])
            text += f"| {name} | {row['works']} | {row['quality']} | {row['not']} | {verdict}{': ' + tests if tests else ''} |\n"
        text += "\n"
    with open(os.path.join(ROOT, "docs", "compatibility.md"), "w", encoding="utf-8") as f:
        f.write(text.rstrip() + "\n")


if __name__ == "__main__":
    main()
