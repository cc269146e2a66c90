#!/usr/bin/env python3
"""What we give out, read by others: pprof by Go's own tool, speedscope's files by its schema, these and folded text by
speedscope itself in a browser, drawings by xmllint. Each must see the stacks and values of our folded text."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.environ["SOURCE_ROOT"], "tests", "tools")]
import json  # noqa: E402

import tap  # noqa: E402
import toolchain  # noqa: E402

ROOT, PROGRAM = os.environ["SOURCE_ROOT"], os.environ["SPANFLAME"]
FIXTURES = os.path.join(os.environ.get("SPANFLAME_FIXTURES") or os.environ["SOURCE_ROOT"] + "/tests/data", "profiles")
folder = tempfile.TemporaryDirectory()

FILES = sorted(glob.glob(f"{ROOT}/tests/corpus/*/minimal.jfr") + [f"{ROOT}/tests/golden/flame_text.folded"] +
               glob.glob(f"{ROOT}/tests/corpus/pprof/two-types*.pb") + glob.glob(f"{ROOT}/tests/corpus/folded/checkout.txt") +
               glob.glob(f"{FIXTURES}/pprof/go-*[!.].pb.gz") + glob.glob(f"{FIXTURES}/jfr/*shop*.gz") +
               glob.glob(f"{FIXTURES}/cpuprofile/node*") + glob.glob(f"{FIXTURES}/heapprofile/*"))


def export(path, form):
    done = subprocess.run([PROGRAM, "export", path, "--format", form], capture_output=True, check=False)
    return done.stdout if done.returncode == 0 else None


def folded(path):
    """{stack: value}; None: this file has nothing to give out."""
    text = export(path, "folded")
    if not text:
        return None
    out = {}
    for line in text.decode("utf-8", "replace").splitlines():
        stack, value = line.rsplit(" ", 1)
        out[stack] = out.get(stack, 0) + int(value)
    return out


def kept(data, ending):
    path = os.path.join(folder.name, "export" + ending)
    with open(path, "wb") as f:
        f.write(data)
    return path


def plain(name):
    """As folded text has to write it."""
    return re.sub(r"[\x00-\x1f]", " ", name.replace(";", ":"))


def by_function(stacks):
    """Functions once a stack and what stacks end in: what stays when names are shown without their lines."""
    ends = {}
    for stack, value in stacks.items():
        leaf = stack.split(";")[-1]
        ends[leaf] = ends.get(leaf, 0) + value
    return {k: v for k, v in ends.items() if v}


def pprof_ends(path):
    """{leaf function: sum} as go tool pprof prints it; a frame without a name is left out."""
    text = toolchain.run("go tool pprof", ["go", "tool", "pprof", "-symbolize=none", "-raw", path],
                         env=dict(os.environ, PPROF_TMPDIR=folder.name))  # Go keeps the tool: it is built once
    head, rest = text.split("\nLocations\n")
    names, at = {}, None
    for line in rest.split("\nMappings")[0].splitlines():
        first = re.match(r" +(\d+): 0x([0-9a-f]+) (?:M=\d+ )?(?:\[F\] ?)?(.*)$", line)
        if first:
            at = int(first[1])
        name = re.match(r"(.+) \S*:-?\d+(?::\d+)? s=-?\d+(?:\(.*\))?$", (first[3] if first else line).strip())
        if name:
            names.setdefault(at, name[1])
    found, total = {}, 0
    for line in head.split("\nSamples:\n")[1].splitlines()[1:]:
        sample = re.match(r" +(-?\d+): ([\d ]*)$", line)
        if not sample:
            continue
        total += int(sample[1])
        leaf = names.get(int(sample[2].split()[0])) if sample[2].strip() else None
        if leaf:
            found[leaf] = found.get(leaf, 0) + int(sample[1])
    return {k: v for k, v in found.items() if v}, total


def test_gos_tool_reads_our_pprof():
    toolchain.need("go")
    n = 0
    for path in FILES:
        want = folded(path)
        if want is None:
            continue
        ends, total = pprof_ends(kept(export(path, "pprof"), ".pb.gz"))
        assert total == sum(want.values()), (path, total, sum(want.values()))
        mine = by_function(want)
        for name, value in ends.items():
            ours = mine.get(re.sub(r"\s+", " ", plain(name)).strip(), mine.get(plain(name)))
            assert ours == value, (path, name, ours, value)
        n += 1
    assert n >= 3, n


def test_speedscope_files_are_what_its_schema_says():
    checker = toolchain.client("speedscope")
    n = 0
    for path in FILES:
        want = folded(path)
        data = export(path, "speedscope")
        if want is None or data is None or min(want.values()) < 0:
            continue
        told = json.loads(toolchain.run("speedscope's schema", [*checker, kept(data, ".speedscope.json")]))
        got = {}
        for stack, value in told["stacks"].items():
            got[stack] = got.get(stack, 0) + value
        assert sum(got.values()) == sum(want.values()), path
        assert sorted(got.values()) == sorted(v for v in want.values() if v), path
        n += 1
    assert n >= 3, n


def speedscope_reads(browser, paths):
    """[{stack: value} of each file], as the page shows them."""
    opener = os.path.join(os.path.dirname(toolchain.client("speedscope")[-1]), "import.js")
    lines = toolchain.run("speedscope", ["node", opener, browser, *paths]).splitlines()
    assert len(lines) == len(paths)
    out = []
    for path, told in zip(paths, map(json.loads, lines)):
        assert "error" not in told, (path, told)
        found = {}
        for names, weight in [stack for profile in told["profiles"] for stack in profile["stacks"]]:
            stack = ";".join(plain(name) for name in names)
            found[stack] = found.get(stack, 0) + weight
        out.append(found)
    return out


def has_names(stacks):
    """Not addresses alone: those stand in pprof as such, and speedscope leaves out what has no function."""
    return not any(re.search(r"(^|[;+!])0x[0-9a-f]+($|;)|\(no symbols\)", stack) for stack in stacks)


def test_speedscope_itself_opens_all_we_give_out():
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        raise tap.Skip("there is no chromium here")
    wants, paths = [], []
    for path in [f for f in FILES if not re.search("go-(allocs|cpu-s|cpu-lines|heap-series)", f)]:  # more of the same
        want = folded(path)
        if want is None or min(want.values()) < 0:
            continue
        forms = {"speedscope": ".speedscope.json", "folded": ".folded.txt", **({"pprof": ".pb.gz"} if has_names(want) else {})}
        for form, ending in forms.items():
            wants.append((path, form, {stack: value for stack, value in want.items() if value}))
            paths.append(kept(export(path, form), f"-{len(wants)}{ending}"))
    for (path, form, want), told in zip(wants, speedscope_reads(browser, paths)):
        assert sum(told.values()) == sum(want.values()), (path, form, sum(told.values()), sum(want.values()))
        assert told == want, (path, form, sorted(set(told.items()) ^ set(want.items()))[:4])
    assert len(wants) >= 10 and {"speedscope", "folded", "pprof"} == {form for _, form, _ in wants}, wants


def test_drawings_are_whole_xml():
    toolchain.need("xmllint")
    n = 0
    for path in FILES:
        data = export(path, "svg")
        if data is None:
            continue
        toolchain.run(f"xmllint of {path}", ["xmllint", "--noout", "--nonet", kept(data, ".svg")])
        n += 1
    names = "a<script>alert(1)</script>;b\"&amp;'\x01\ufffe 3\nc]]>d 2\n"
    toolchain.run("xmllint of names", ["xmllint", "--noout", "--nonet", kept(
        export(kept(names.encode("utf-8", "replace"), ".folded"), "svg"), ".svg")])
    assert n >= 3, n


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
