#!/usr/bin/env python3
"""check_names.py [ROOT] - an exported function tells its file, and no two functions or structs share a name.

sf_block_writer_add() is in block_writer.c: a function that others may call begins with sf_ and the noun of its file, or
the noun's plural. A static function has a name that no function of another file has: one search finds it, and a profile of
the program tells which one it was. A struct, union or enum whose tag begins with sf_ is defined in one file. Every finding is one line,
file:line: what and which rule; exit status 1. An exception below that is no longer needed is a finding too.
"""
import collections
import os
import re
import sys

# Nouns beside the file's own, and why its exports may begin with them.
OBJECT = "an object of several files; its functions begin with its name"
SMALL = "small types that belong together"
MORE = {
    "collect/sys/lock.c": (("notifier",), SMALL),
    "src/base/err.c": (("fail", "why"), "called on every failure: short on purpose"),
    "src/base/text.c": (("base64", "hex", "utf8"), "encodings of text by the names everybody knows"),
    "src/exec/eval_expr.c": (("eval",), OBJECT),
    "src/http/h2_session.c": (("h2_stream",), "streams exist only within a session"),
    "src/http/request.c": (("response",), SMALL),
    "src/join/link_set.c": (("link_load",), OBJECT),
    "src/link/thread_table.c": (("span_thread",), SMALL),
    "src/model/ids.c": (("span_id", "trace_id"), SMALL),
    "src/model/value.c": (("attrs",), SMALL),
    "src/os/thread.c": (("condvar", "mutex", "rwlock"), SMALL),
    "src/wal/wal_replay.c": (("wal",), OBJECT),
}
# Functions of libc and the linker that these files put themselves before.
INSTEAD = ("collect/hook/", "collect/lib/recorded.c")
PUBLIC = "include/spanflame.h"  # its names are the library's interface, whichever file holds them

COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
FUNCTION = re.compile(r"^((?:\w+ )+[\w* ]*?)\**(\w+)\(([^;{}]*)\)\s*\n\{", re.M)
TAG = re.compile(r"^(?:typedef |static |const )*(?:struct|union|enum) (sf_\w+)\s*\{", re.M)


def plain(path):
    """The text without comments and strings, its lines kept."""
    with open(path, encoding="utf-8", errors="replace") as f:
        return COMMENT.sub(lambda m: "\n" * m.group(0).count("\n") or " ", f.read())


def sources(root):
    for top in ("src", "collect"):
        for folder, dirs, names in os.walk(os.path.join(root, top)):
            dirs.sort()
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def begins_with(name, noun):
    return re.match(rf"sf_{noun}(s|es)?(_|$)", name) is not None


def check(root):
    """Yields (path, line, sentence) for every fault under root."""
    public, used = set(), set()
    tags, functions = collections.defaultdict(list), collections.defaultdict(list)
    if os.path.exists(os.path.join(root, PUBLIC)):
        public = set(re.findall(r"\b(sf_\w+)\s*\(", plain(os.path.join(root, PUBLIC))))
    for path in sources(root):
        text = plain(os.path.join(root, path))
        for m in TAG.finditer(text):
            tags[m[1]].append((path, text.count("\n", 0, m.start()) + 1))
        if not path.endswith(".c"):
            continue
        noun = os.path.basename(path)[:-2]
        for m in FUNCTION.finditer(text):
            name = m[2]
            line = text.count("\n", 0, m.start(2)) + 1
            if m[1].startswith("static") and name != "__attribute__":
                functions[name].append((path, line))
            if m[1].startswith("static") or name in public or name == "main" or begins_with(name, noun):
                continue
            more = [n for n in MORE.get(path, ((), ""))[0] if begins_with(name, n)]
            used.update((path, n) for n in more)
            if more or (not name.startswith("sf_") and path.startswith(INSTEAD)):
                continue
            yield path, line, f"{name}() is exported and does not begin with sf_{noun}"
    for tag, places in sorted(tags.items()):
        for path, line in places[1:]:
            yield path, line, f"{tag} is defined in {places[0][0]} too"
    for name, places in sorted(functions.items()):
        for path, line in places[1:]:
            if path != places[0][0]:  # the same file: two branches of an #ifdef
                yield path, line, f"{name}() is in {places[0][0]} too"
    for path, (nouns, _) in sorted(MORE.items()):
        for noun in nouns:
            if os.path.exists(os.path.join(root, path)) and (path, noun) not in used:
                yield path, 1, f"tools/check_names.py lists {noun} for it, and no function begins with it"


def main(argv):
    root = argv[1] if len(argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if not os.path.isdir(os.path.join(root, "src")):
        print(f"check_names: {root} has no src/", file=sys.stderr)
        return 2
    faults = [f"{path}:{line}: {sentence}" for path, line, sentence in check(root)]
    if faults:
        print("\n".join(faults))
        print(f"check_names: {len(faults)} names do not tell where they are", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
