"""The static checks find planted faults, remember verdicts, and forget them when anything changed."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import tap

ROOT = os.environ["SOURCE_ROOT"]
FINE = '#include "base/noun.h"\nint twice(int x)\n{\n    return NOUN * x;\n}\n'
NULL = '#include "base/noun.h"\nint twice(int x)\n{\n    int *p = 0;\n    return x ? *p : 0;\n}\n'


class Tree:
    """A tree of one C file and one header, with the real tool and settings."""

    def __init__(self, text):
        for tool in ("clang-tidy", "cppcheck"):
            if not shutil.which(tool):
                raise tap.Skip(f"{tool} is not installed")
        self.folder = tempfile.TemporaryDirectory()
        root = self.root = os.path.realpath(self.folder.name)
        for name in ("tools", "build", "src/base", "tests"):
            os.makedirs(os.path.join(root, name))
        for name in ("tools/static_checks.py", ".clang-tidy", "tests/.clang-tidy"):
            shutil.copy(os.path.join(ROOT, name), os.path.join(root, name))
        self.write("src/base/noun.h", "#pragma once\n#define NOUN 2\nint twice(int x);\n")
        self.write("src/base/noun.c", text)
        self.write("build/compile_commands.json", json.dumps([{
            "directory": os.path.join(root, "build"), "file": "../src/base/noun.c",
            "command": "cc -I../src -Wall -c ../src/base/noun.c"}]))

    def write(self, name, text):
        with open(os.path.join(self.root, name), "w", encoding="utf-8") as f:
            f.write(text)

    def run(self):
        done = subprocess.run([sys.executable, os.path.join(self.root, "tools", "static_checks.py")],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout


def test_a_fine_file_passes_and_is_remembered():
    tree = Tree(FINE)
    assert tree.run() == (0, "static_checks: 1 files, 0 known from before, 0 with findings\n"), tree.run()
    assert tree.run() == (0, "static_checks: 1 files, 1 known from before, 0 with findings\n"), tree.run()


def test_a_null_dereference_is_found_and_stays_found():
    tree = Tree(NULL)
    for known in ("0 known", "1 known"):
        status, said = tree.run()
        assert status == 1 and "src/base/noun.c:5" in said and known in said, said


def test_a_changed_header_is_looked_at_again():
    tree = Tree(FINE)
    tree.run()
    tree.write("src/base/noun.h", "#pragma once\n#define NOUN 3\nint twice(int y);\n")
    status, said = tree.run()
    assert status == 1 and "0 known" in said and "inconsistent-declaration-parameter-name" in said, said


def test_changed_settings_are_looked_at_again():
    tree = Tree(FINE)
    tree.run()
    with open(os.path.join(tree.root, ".clang-tidy"), "a", encoding="utf-8") as f:
        f.write("# another line\n")
    assert "0 known" in tree.run()[1]


def test_code_that_does_not_compile_is_a_finding():
    assert Tree("int twice(int x) { return y; }\n").run()[0] == 1


def numbers(root, most, commits):
    """(names of the files that are looked at, how many more changed) by the tool in `root`."""
    program = (f"import static_checks as s; s.LAST_COMMITS = {commits}; files, more = s.most_changed({most}); "
               "print([f.split('/')[-1] for f in files], more)")
    done = subprocess.run([sys.executable, "-B", "-c", program], cwd=os.path.join(root, "tools"), capture_output=True,
                          text=True, check=True)
    return done.stdout.strip()


def test_the_short_form_looks_at_what_changed_most():
    tree = Tree(FINE)

    def git(*args):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "init.defaultBranch=main",
                        *args], cwd=tree.root, check=True, capture_output=True)

    def entry(name):
        return {"directory": os.path.join(tree.root, "build"), "file": f"../src/base/{name}.c", "command": "cc"}
    tree.write("build/compile_commands.json", json.dumps([entry(name) for name in ("noun", "verb", "word", "new")]))
    git("init")
    git("commit", "--allow-empty", "-m", "root")
    for name in ("verb", "word"):
        tree.write(f"src/base/{name}.c", f"int {name};\n" * 9)
    git("add", "src")
    git("commit", "-m", "all")
    assert numbers(tree.root, 9, 1) == "['verb.c', 'word.c', 'noun.c'] 0", numbers(tree.root, 9, 1)
    git("mv", "src/base/word.c", "src/base/moved.c")
    tree.write("src/base/noun.h", "#pragma once\nint twice(int x);\n")
    git("add", "src")
    git("commit", "-m", "a move, and a header")
    assert numbers(tree.root, 9, 1) == "['noun.c'] 0", numbers(tree.root, 9, 1)  # what only moved is as it was
    tree.write("src/base/verb.c", "int verb;\n" * 3)  # not committed yet
    tree.write("src/base/new.c", "int new;\n" * 2)
    assert numbers(tree.root, 2, 1) == "['verb.c', 'new.c'] 1", numbers(tree.root, 2, 1)
    git("checkout", "-b", "side")
    git("commit", "-a", "-m", "on a branch, what it has over main")
    assert numbers(tree.root, 9, 1) == "['verb.c', 'new.c'] 0", numbers(tree.root, 9, 1)


tap.run(sys.modules[__name__])
