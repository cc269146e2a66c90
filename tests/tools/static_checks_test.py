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


tap.run(sys.modules[__name__])
