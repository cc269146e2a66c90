"""The check of tables finds each kind of fault in a small tree, on its line, and nothing else."""
import os
import subprocess
import sys
import tempfile

TOOL = os.path.join(os.environ["SOURCE_ROOT"], "tools", "check_tables.py")
BY_HAND = "a table written by hand: use base/table.h"
PLACE = "a hash chooses a place: use base/table.h"
OPEN = "a table by a hash that everybody can compute: use base/key.h"

# A sentence, the file, its text, and what the check must say (None: nothing).
CASES = [
    ("steps from slot to slot are found", "src/exec/sums.c",
     "void f(void)\n{\n    while (t[at])\n        at = (at + 1) & (n - 1);\n}\n", f"src/exec/sums.c:4: {BY_HAND}"),
    ("a place from a keyed hash is found", "src/exec/sums.c", "int f(void) { return (uint32_t)sf_key_u64(id) & (n - 1); }\n",
     f"src/exec/sums.c:1: {PLACE}"),
    ("a place from a hash with a remainder is found", "collect/lib/names.c", "uint32_t *p = &t->slots[hash % SLOTS];\n",
     f"collect/lib/names.c:1: {PLACE}"),
    ("a place from the upper bits is found", "src/intake/rules.c", "x = r->cache[hash >> 52];\n",
     f"src/intake/rules.c:1: {PLACE}"),
    ("an open hash for a table is found", "src/decode/frames.c", "look = sf_table_lookup(&t->at, sf_hash_str(id));\n",
     f"src/decode/frames.c:1: {OPEN}"),
    ("and for a decoder's table", "src/decode/frames.c",
     "is = sf_profile_table_is_new(b, &t->at,\n    sf_hash_mix(1, pid), is_same, &k, &spot);\n", f"src/decode/frames.c:1: {OPEN}"),
    ("base may", "src/base/table.c", "at = (at + 1) & (n - 1);\n", None),
    ("a keyed table is fine", "src/exec/sums.c", "look = sf_table_lookup(&t->at, sf_key_str(s));\n", None),
    ("a ring is fine", "src/os/ring.c", "q->head = (q->head + 1) % q->cap;\n", None),
    ("a comment is no code", "src/exec/sums.c", "/* at = (at + 1) & (n - 1); */\n", None),
    ("what is listed may", "src/exec/span_pool.c", "met = &p->texts[sf_key_str(in) & (TEXTS - 1)];\n", None),
    ("a list entry without a reason to be there is found", "src/exec/span_pool.c", "int x;\n",
     "src/exec/span_pool.c:1: listed in tools/check_tables.py, and nothing is found in it"),
]


def run(root):
    done = subprocess.run([sys.executable, TOOL, root], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


def case(path, text, want):
    with tempfile.TemporaryDirectory() as root:
        os.makedirs(os.path.join(root, os.path.dirname(path)))
        with open(os.path.join(root, path), "w", encoding="utf-8") as f:
            f.write(text)
        status, lines, errors = run(root)
        assert lines == ([want] if want else []), (lines, errors)
        assert status == (1 if want else 0), (status, errors)


def main():
    tests = [(sentence, lambda c=(path, text, want): case(*c)) for sentence, path, text, want in CASES]
    print(f"1..{len(tests)}")
    for i, (sentence, test) in enumerate(tests, 1):
        try:
            test()
            print(f"ok {i} - {sentence}")
        except AssertionError as why:
            print(f"not ok {i} - {sentence}\n# {why}")


main()
