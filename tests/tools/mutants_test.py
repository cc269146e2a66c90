#!/usr/bin/env python3
"""Does `make mutants` change what it says, one place at a time, and leave out what is known to be equal?"""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tools"))
import mutants  # noqa: E402
import tap  # noqa: E402

CODE = """#include <stdio.h>

/* A comment with == in it. */
static int older(int a, const char *(*name)(void), int values[2])
{
    /* a == b */
    if (a == 3 && name)
        return values[0] + 1;
    return 0;
}

static void say(void)
{
    puts("a == b");
}

int main(void)
{
    int values[2] = {6, 7};
    say();
    return older(3, (const char *(*)(void))main, values);
}
"""


def in_folder(code, test):
    with tempfile.TemporaryDirectory() as folder:
        mutants.ROOT, mutants.TREE = folder, folder
        path = os.path.join(folder, "small.c")
        with open(path, "w", encoding="utf-8") as f:
            f.write(code)
        test(folder, mutants.Source(path))


def built(folder, source):
    """A function that runs the program with one change and gives (exit status, output, functions reached)."""
    mutants.number_all([source])
    source.write()
    program, reach = os.path.join(folder, "small"), os.path.join(folder, "reach")
    subprocess.run(["cc", "-w", "-o", program, os.path.join(folder, "small.c")], check=True)

    def call(number):
        done = subprocess.run([program], env={"SF_MUTANT": str(number), "SF_MUTANT_REACH": reach}, capture_output=True, text=True,
                              check=False)
        with open(reach, encoding="ascii") as f:
            reached = {int(line) for line in f}
        os.unlink(reach)
        return done.returncode, done.stdout, reached
    return call


def test_each_change_is_made_alone():
    def look(folder, source):
        assert [f.name for f in source.functions] == ["older", "say", "main"]
        assert source.functions[0].params == ["a", "name", "values"], source.functions[0].params
        call = built(folder, source)
        assert call(0) == (7, "a == b\n", {1, 2, 3})
        told = {m.new.strip(): call(m.id)[:2] for m in source.mutants if m.function.name == "older"}
        assert told == {"if (a != 3 && name)": (0, "a == b\n"), "if (a == 3 || name)": (7, "a == b\n"),
                        "if (!(a == 3 && name))": (0, "a == b\n"), "return values[0];": (6, "a == b\n")}, told
    in_folder(CODE, look)


def test_calls_are_left_out():
    def look(folder, source):
        gone = [m for m in source.mutants if m.new.strip() == ";"]
        assert [m.function.name for m in gone] == ["say", "main"], [m.key() for m in gone]
        call = built(folder, source)
        for m in gone:
            code, said, reached = call(m.id)
            assert (code, said) == (7, ""), (m.key(), code, said)
            assert (2 in reached) == (m.function.name == "say")
    in_folder(CODE, look)


def test_changes_that_do_not_compile_are_taken_out():
    def look(folder, source):
        mutants.number_all([source])
        source.write()
        first, _, broken = source.spans[0]
        assert source.drop_broken(f"{folder}/small.c:{first + 2}:5: error: no") == 1
        assert broken not in source.mutants and len(source.mutants) == len(source.spans) - 1
    in_folder(CODE, look)


def test_every_listed_change_names_a_place_that_is_there():
    mutants.ROOT = os.environ["SOURCE_ROOT"]
    mutants.KNOWN = os.path.join(mutants.ROOT, "tests", "mutants_known.txt")
    listed = mutants.known()
    there = {m.key() for name in {key[0] for key in listed} for m in mutants.Source(os.path.join(mutants.ROOT, name)).mutants}
    assert not set(listed) - there, set(listed) - there


tap.run(sys.modules[__name__])
