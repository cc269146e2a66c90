"""The check of names finds each kind of fault in a small tree, on its line, and nothing else."""
import os
import subprocess
import sys
import tempfile

TOOL = os.path.join(os.environ["SOURCE_ROOT"], "tools", "check_names.py")
BODY = "(int a)\n{\n    return a;\n}\n"

# A sentence, files and their texts, and what the check must say (None: nothing).
CASES = [
    ("a function with its file's noun is fine", {"src/wal/wal_tail.c": "int sf_wal_tail_read" + BODY}, None),
    ("the noun alone is fine", {"src/wal/wal_tail.c": "int sf_wal_tail" + BODY}, None),
    ("its plural is fine", {"src/os/fetch.c": "struct x *sf_fetches_new(int a,\n        int b)\n{\n}\n"}, None),
    ("another noun is found", {"src/wal/wal_tail.c": "\nenum sf_err sf_tail_read" + BODY},
     "src/wal/wal_tail.c:2: sf_tail_read() is exported and does not begin with sf_wal_tail"),
    ("a longer noun is another noun", {"src/wal/wal.c": "int sf_wallet_open" + BODY},
     "src/wal/wal.c:1: sf_wallet_open() is exported and does not begin with sf_wal"),
    ("a name without sf_ is found", {"src/wal/wal.c": "int wal_open" + BODY},
     "src/wal/wal.c:1: wal_open() is exported and does not begin with sf_wal"),
    ("a static function is nobody else's", {"src/wal/wal.c": "static int find_tail" + BODY}, None),
    ("a declaration and a call are no definition", {"src/wal/wal.c": "int sf_tail_read(int a);\n"}, None),
    ("a comment is no code", {"src/wal/wal.c": "/*\nint sf_tail_read" + BODY + "*/\n"}, None),
    ("a function of the library's header may be anywhere",
     {"include/spanflame.h": "int sf_start(const char *s);\n", "collect/lib/library.c": "int sf_start" + BODY}, None),
    ("a hook has the name of what it stands before", {"collect/hook/malloc_hook.c": "void *malloc" + BODY}, None),
    ("but not elsewhere", {"collect/lib/span.c": "void *malloc" + BODY},
     "collect/lib/span.c:1: malloc() is exported and does not begin with sf_span"),
    ("an exception holds for its file", {"src/model/value.c": "int sf_attrs_get" + BODY}, None),
    ("and for no other", {"src/model/span.c": "int sf_attrs_get" + BODY},
     "src/model/span.c:1: sf_attrs_get() is exported and does not begin with sf_span"),
    ("an exception that is not needed is found", {"src/model/value.c": "int sf_value_eq" + BODY},
     "src/model/value.c:1: tools/check_names.py lists attrs for it, and no function begins with it"),
    ("a tag that is defined twice is found",
     {"src/a/a.h": "struct sf_a {\n    int x;\n};\n", "src/b/b.c": "struct sf_a;\nstruct sf_a {\n    int y;\n};\n"},
     "src/b/b.c:2: sf_a is defined in src/a/a.h too"),
    ("a static function of two files is found",
     {"src/a/a.c": "static int find" + BODY, "src/b/b.c": "\nstatic int find" + BODY},
     "src/b/b.c:2: find() is in src/a/a.c too"),
    ("two branches of one file are one function", {"src/a/a.c": ("static int find" + BODY) * 2}, None),
    ("a tag of one file may be another's too", {"src/a/a.c": "struct work {\n};\n", "src/b/b.c": "struct work {\n};\n"}, None),
]


def run(files):
    with tempfile.TemporaryDirectory() as root:
        os.mkdir(os.path.join(root, "src"))
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
        done = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout.splitlines()


def main():
    print(f"1..{len(CASES)}")
    for i, (sentence, files, want) in enumerate(CASES, 1):
        status, lines = run(files)
        good = (status, lines) == ((1, [want]) if want else (0, []))
        print(f"{'ok' if good else 'not ok'} {i} - {sentence}")
        if not good:
            print(f"# wanted {want!r}, status {status}")
            for line in lines:
                print(f"# {line}")


main()
