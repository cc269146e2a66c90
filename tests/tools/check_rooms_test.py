"""The room check finds each kind of fault in a small tree, on its line, and nothing else; the pages say what it says."""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.environ["SOURCE_ROOT"]
TOOL = os.path.join(ROOT, "tools", "check_rooms.py")

# A sentence, the file, its text, and what the check must say (None: nothing).
CASES = [
    ("a room sees those to its right", "src/store/store.c",
     '#include "store/store.h"\n#include "wal/wal.h"\n#include "base/err.h"\n#include <stdio.h>\n', None),
    ("a folder below a room is that room", "src/store/local/write/flush.c",
     '#include "block/block.h"\n#include "store/store.h"\n', None),
    ("an include to the left is found", "src/block/block.c",
     '#include "base/err.h"\n\n#include "store/store.h"\n',
     "src/block/block.c:3: includes \"store/store.h\": includes point to the right: store is left of block"),
    ("an include inside the bracket is found", "src/wire/json.c", '#include "model/span.h"\n',
     "src/wire/json.c:1: includes \"model/span.h\": wire and model are in one bracket"),
    ("base sees nobody", "src/base/err.c", '#include "os/file.h"\n',
     "src/base/err.c:1: includes \"os/file.h\": includes point to the right"),
    ("link sees model and flame", "src/link/grade.c", '#include "model/span.h"\n#include "flame/tree.h"\n', None),
    ("link does not see block", "src/link/grade.c", '#include "block/block.h"\n',
     "src/link/grade.c:1: includes \"block/block.h\": link sees base, flame, model only"),
    ("src does not see collect", "src/app/main.c", '#include "collect/send/send.h"\n',
     "src/app/main.c:1: includes \"collect/send/send.h\": src never sees collect"),
    ("collect sees wire", "collect/send/send.c", '#include "wire/pb.h"\n#include "send.h"\n', None),
    ("collect does not call the program's malloc", "collect/lib/span.c", "void *p = malloc(8);\n",
     "collect/lib/span.c:1: malloc() is banned: use base/heap.h"),
    ("collect does not see store", "collect/send/send.c", '#include "store/store.h"\n',
     "collect/send/send.c:1: includes \"store/store.h\": collect sees base, wire, http, symbol and itself only"),
    ("a way up is found", "src/wal/wal.c", '#include "../base/err.h"\n',
     "src/wal/wal.c:1: includes \"../base/err.h\": includes name the room"),
    ("a bare name is found", "src/wal/wal.c", '#include "wal.h"\n',
     "src/wal/wal.c:1: includes \"wal.h\": unknown room"),
    ("a room in angle brackets is found", "src/wal/wal.c", "#include <store/store.h>\n",
     "src/wal/wal.c:1: includes \"store/store.h\""),
    ("an unknown folder is found", "src/attic/box.c", '#include "base/err.h"\n',
     "src/attic/box.c:1: includes \"base/err.h\": unknown room"),
    ("an include in a comment is no include", "src/wal/wal.c", '/* was:\n#include "store/store.h"\n*/\n', None),
    ("a comment before an include keeps its line", "src/wal/wal.c",
     '/* one\n * two */\n#include "store/store.h"\n', "src/wal/wal.c:3: includes"),
    ("a banned call is found", "src/wal/wal.c", "int f(char *p)\n{\n    return atoi(p);\n}\n",
     "src/wal/wal.c:3: atoi() is banned"),
    ("memory comes from the heap", "src/wal/wal.c", "void *p;\nvoid f(void) { p = malloc(3); }\n",
     "src/wal/wal.c:2: malloc() is banned: use base/heap.h"),
    ("the heap may allocate", "src/base/heap.c", "void *f(void) { return malloc(3); }\n", None),
    ("a longer name is another name", "src/wal/wal.c", "void f(void) { sf_heap_free(x); z.free(y); w->free(y); }\n", None),
    ("a banned word in a string is a word", "src/wal/wal.c", 'const char *s = "free(x) /* gets( ";\n', None),
    ("a banned word in a comment is a word", "src/wal/wal.c", "/* never\n * malloc(3) */\n// free(x)\n", None),
    ("a long file without an opening comment is found", "src/wal/wal.c", "\n" * 301,
     "src/wal/wal.c:1: over 300 lines, and no comment at its beginning"),
    ("a long file with one is fine", "src/wal/wal.c", "/* wal.c - the log. */" + "\n" * 301, None),
    ("a vague name is found", "src/wal/wal_util.c", "\n", "src/wal/wal_util.c:1: a file named util or common"),
    ("a name that only contains the letters is fine", "src/wal/commonality.c", "\n", None),
]


def run(path, text):
    with tempfile.TemporaryDirectory() as root:
        os.mkdir(os.path.join(root, "src"))
        os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as f:
            f.write(text)
        done = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def pages():
    """What the pages say of the rooms is what the check says, and no folder is left out."""
    order = re.search(r"  app > .*?base\n", read("tools/check_rooms.py"), re.S).group(0)
    order = [line.strip() for line in order.splitlines()]
    for page in ("docs/architecture.md", "CONTRIBUTING.md"):
        shown = re.search(r"^app > .*?base\n", read(page), re.S | re.M).group(0)
        yield f"{page} shows the order of the rooms", [line.strip() for line in shown.splitlines()] == order
    rows = set(re.findall(r"^\| `([\w/]+)` \|", read("docs/architecture.md"), re.M))
    folders = {name for name in os.listdir(os.path.join(ROOT, "src")) if "." not in name}
    folders |= {"collect/" + name for name in os.listdir(os.path.join(ROOT, "collect")) if "." not in name}
    for page, number in (("format-store", r"format \((\d+)\)"), ("format-log", r"Format number (\d+)"),
                         ("format-span-block", r"format (\d+)"), ("format-profile-block", r"format (\d+)")):
        row = re.search(r"^\| [^|]*\| \[%s.md\]\([^|]*\|[^|]*\| (\d+)" % page, read("docs/architecture.md"), re.M)
        yield f"docs/architecture.md has the number of docs/{page}.md", \
            row and row[1] == re.search(number, read(f"docs/{page}.md"))[1]
    yield "docs/architecture.md has a row for every folder", folders <= rows and len(folders) > 25


def main():
    page_results = list(pages())
    print(f"1..{len(CASES) + len(page_results)}")
    for i, (sentence, path, text, want) in enumerate(CASES, 1):
        status, lines = run(path, text)
        if want is None:
            good = status == 0 and not lines
        else:
            good = status == 1 and len(lines) == 1 and lines[0].startswith(want)
        print(f"{'ok' if good else 'not ok'} {i} - {sentence}")
        if not good:
            print(f"# wanted {want!r}, status {status}")
            for line in lines:
                print(f"# {line}")
    for i, (sentence, good) in enumerate(page_results, len(CASES) + 1):
        print(f"{'ok' if good else 'not ok'} {i} - {sentence}")


main()
