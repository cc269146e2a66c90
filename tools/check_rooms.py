#!/usr/bin/env python3
"""check_rooms.py [ROOT] - includes point to the right, and a few names stay out.

  app > [serve cli] > alert > join > exec > [intake store link render meter]
      > [listen decode query flame wal block symbol scrape] > [os model wire http regex] > base

A room sees itself and everything to its right; rooms in one bracket do not see each other. `link`
is pure: it sees model, flame and base only. collect/ sees itself, base, wire, http and symbol, and src/
never sees collect/. A file of more than 300 lines begins with a comment. Every finding is one line, file:line: what and which rule; exit status 1.
"""
import os
import re
import sys

ORDER = [
    ["app"],
    ["serve", "cli"],
    ["alert"],
    ["join"],
    ["exec"],
    ["intake", "store", "link", "render", "meter"],
    ["listen", "decode", "query", "flame", "wal", "block", "symbol", "scrape"],
    ["os", "model", "wire", "http", "regex"],
    ["base"],
]
ONLY = {"link": {"model", "flame", "base"}}
COLLECT_SEES = {"base", "wire", "http", "symbol"}

RANK = {room: i for i, bracket in enumerate(ORDER) for room in bracket}

HEAP = "use base/heap.h"
BANNED = {
    "strcpy": "use sf_str or sf_buf", "strcat": "use sf_str or sf_buf",
    "stpcpy": "use sf_str or sf_buf", "sprintf": "use snprintf or sf_buf",
    "vsprintf": "use vsnprintf or sf_buf", "gets": "use a bounded read",
    "strtok": "use sf_str", "strtok_r": "use sf_str",
    "malloc": HEAP, "calloc": HEAP, "realloc": HEAP, "reallocarray": HEAP, "free": HEAP,
    "strdup": HEAP, "strndup": HEAP, "asprintf": HEAP, "vasprintf": HEAP,
    "atoi": "use base/text.h", "atol": "use base/text.h", "atoll": "use base/text.h",
    "atof": "use base/text.h", "alloca": "use an arena",
    "rand": "use os/random.h", "srand": "use os/random.h", "random": "use os/random.h",
}
# Where memory comes from: the one file that may call the allocator, and the one that stands before
# a program's.
MAY_ALLOCATE = {"src/base/heap.c", "collect/hook/malloc_hook.c"}

# Comments and literals, so that neither prose nor a string counts as code. Newlines are kept.
NOT_CODE = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')', re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
CALL = re.compile(r"(?<![\w.>])(%s)\s*\(" % "|".join(BANNED))
LONG = 300  # lines; longer files begin with a comment
VAGUE = re.compile(r"(^|[_-])(utils?|common|misc|helpers?)([_.-]|$)")


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def keep_lines(match):
    return "\n" * match.group(0).count("\n") or " "


def may_see(room, other):
    """None when `room` may include `other`, else the rule it breaks."""
    if room == other:
        return None
    if room in ONLY and other not in ONLY[room]:
        return f"{room} sees {', '.join(sorted(ONLY[room]))} only"
    if RANK[other] > RANK[room]:
        return None
    if RANK[other] == RANK[room]:
        return f"{room} and {other} are in one bracket and do not see each other"
    return f"includes point to the right: {other} is left of {room}"


def include_fault(path, quote, target):
    """Why the file at `path` may not include `target`; None when it may."""
    parts = path.split("/")
    to = target.split("/")
    if quote == "<" and to[0] not in RANK and to[0] not in ("collect", "src"):
        return None  # the system's or a library's
    if ".." in to:
        return "includes name the room, not a way to it"
    if parts[0] == "collect":
        if to[0] in RANK and to[0] not in COLLECT_SEES and len(to) > 1:
            return "collect sees base, wire, http, symbol and itself only"
        return None
    room = parts[1] if len(parts) > 2 else None
    if room not in RANK:
        return "unknown room: add it to the order in tools/check_rooms.py"
    if to[0] == "collect":
        return "src never sees collect"
    if len(to) < 2 or to[0] not in RANK:
        if target == "spanflame.h":
            return "src never sees the library's public header"
        return f'unknown room: write "room/{to[-1]}"'
    return may_see(room, to[0])


def check_file(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        text = f.read()
    if text.count("\n") > LONG and not text.startswith("/*"):
        yield 1, f"over {LONG} lines, and no comment at its beginning says what it is for and how it works"
    plain = COMMENT.sub(lambda m: m.group(1) or keep_lines(m), text)
    for m in INCLUDE.finditer(plain):
        fault = include_fault(path, m.group(1), m.group(2))
        if fault:
            yield line_of(plain, m.start(1)), f'includes "{m.group(2)}": {fault}'
    if path not in MAY_ALLOCATE:
        code = NOT_CODE.sub(keep_lines, text)
        for m in CALL.finditer(code):
            yield line_of(code, m.start(1)), f"{m.group(1)}() is banned: {BANNED[m.group(1)]}"


def check(root):
    """Yields (path, line, sentence) for every fault under root; also counts files."""
    for top in ("src", "collect"):
        for folder, dirs, names in os.walk(os.path.join(root, top)):
            dirs.sort()
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), root)
                if VAGUE.search(name):
                    yield path, 1, "a file named util or common marks a noun nobody has found yet"
                if name.endswith((".c", ".h")):
                    for line, sentence in check_file(root, path):
                        yield path, line, sentence


def main(argv):
    root = argv[1] if len(argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    if not os.path.isdir(os.path.join(root, "src")):
        print(f"check_rooms: {root} has no src/", file=sys.stderr)
        return 2
    faults = [f"{path}:{line}: {sentence}" for path, line, sentence in check(root)]
    if faults:
        print("\n".join(faults))
        print(f"check_rooms: {len(faults)} lines break the order of the rooms", file=sys.stderr)
    elif len(argv) > 2:
        with open(argv[2], "w", encoding="ascii") as stamp:
            stamp.write("ok\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
