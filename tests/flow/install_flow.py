#!/usr/bin/env python3
"""`make install` puts a program that runs, its pages and its licence below DESTDIR and PREFIX, and nothing else."""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["SOURCE_ROOT"], "tests", "tools"))
import tap  # noqa: E402

SOURCE = os.environ["SOURCE_ROOT"]


def install(root):
    done = subprocess.run([os.path.join(SOURCE, "tools", "install"), root], cwd="/", capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return {os.path.relpath(os.path.join(folder, name), root)
            for folder, _, names in os.walk(root) for name in names}


def test_the_makefile_joins_destdir_and_prefix():
    done = subprocess.run(["make", "-n", "install", "DESTDIR=/tmp/a b", "PREFIX=/opt/x"], cwd=SOURCE,
                          capture_output=True, text=True, check=True)
    assert "tools/install '/tmp/a b/opt/x'" in done.stdout, done.stdout


def test_meson_installs_the_same():
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as destdir:
        files = install(root)
        done = subprocess.run(["meson", "install", "-C", os.environ["BUILD_ROOT"], "--no-rebuild", "--destdir", destdir],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        prefix = os.path.dirname(next(folder for folder, _, _ in os.walk(destdir) if folder.endswith("/bin")))
        assert files == {os.path.relpath(os.path.join(folder, name), prefix)
                         for folder, _, names in os.walk(destdir) for name in names}


def test_the_installed_program_runs():
    with tempfile.TemporaryDirectory(prefix="a name with blanks ") as root:
        install(root)
        said = subprocess.run([os.path.join(root, "bin", "spanflame"), "version"], capture_output=True, text=True,
                              check=True, env={"PATH": "/nonexistent"})
        assert said.stdout.startswith("spanflame "), said.stdout


def test_licence_and_pages_are_there():
    with tempfile.TemporaryDirectory() as root:
        files = install(root)
        assert {"share/doc/spanflame/LICENSE", "share/doc/spanflame/README.md"} <= files, files
        for page in os.listdir(os.path.join(SOURCE, "docs", "man")):
            assert f"share/man/man{page[-1]}/{page}" in files, page


def test_every_function_has_a_page_under_its_name():
    with open(os.path.join(SOURCE, "collect", "spanflame.map"), encoding="ascii") as f:
        functions = re.findall(r"\bsf_\w+", f.read())
    with tempfile.TemporaryDirectory() as root:
        install(root)
        for function in functions:
            page = subprocess.run(["mandoc", "-T", "ascii", f"man3/{function}.3"], cwd=os.path.join(root, "share", "man"),
                                  capture_output=True, text=True, check=True).stdout
            page = re.sub(".\b", "", page)  # bold is a letter, a backspace, and the letter again
            assert re.search(rf"^ +{function}\(", page, re.M), (function, page[:300])


def test_completions_and_an_example_configuration_are_there():
    with tempfile.TemporaryDirectory() as root:
        assert {"share/bash-completion/completions/spanflame", "share/zsh/site-functions/_spanflame",
                "share/fish/vendor_completions.d/spanflame.fish",
                "share/doc/spanflame/examples/spanflame.yaml"} <= install(root)


def test_every_client_file_is_there():
    with tempfile.TemporaryDirectory() as root:
        files = install(root)
        for folder, _, names in os.walk(os.path.join(SOURCE, "clients")):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), SOURCE)
                assert "__pycache__" in path or f"share/spanflame/{path}" in files, path


def test_the_example_configuration_is_valid():
    with tempfile.TemporaryDirectory() as root:
        install(root)
        done = subprocess.run([os.path.join(root, "bin", "spanflame"), "check-config", "--config",
                               os.path.join(root, "share/doc/spanflame/examples/spanflame.yaml")],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_the_page_of_commands_names_every_one():
    said = subprocess.run([os.environ["SPANFLAME"], "--help"], capture_output=True, text=True, check=True).stdout
    commands = [line.split()[0] for line in said.splitlines() if line.startswith("  ")]
    with open(os.path.join(SOURCE, "docs", "commands.md"), encoding="utf-8") as f:
        page = f.read()
    assert "serve" in commands
    assert [c for c in commands if f"| `spanflame {c}" not in page] == []


def test_the_readme_says_what_the_pages_of_languages_say():
    """Those programs are run as they are written (tests/clients); the README has lines of them."""
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as f:
        part = f.read().split("## Your language")[1].split("[Rust]")[0]
    blocks = re.findall(r"\(docs/(\w+)\.md\)[^`]*```\w*\n(.*?)```", part, re.S)
    assert [name for name, _ in blocks] == ["go", "java", "python", "node"], blocks
    for name, block in blocks:
        with open(os.path.join(SOURCE, "docs", name + ".md"), encoding="utf-8") as f:
            page = {line.strip() for line in f}
        assert [line for line in block.splitlines() if line.strip() not in page] == [], name


def test_the_installed_shop_finds_its_library():
    with tempfile.TemporaryDirectory() as root:
        install(root)
        said = subprocess.run(["ldd", os.path.join(root, "libexec", "spanflame", "shop_gateway")], capture_output=True,
                              text=True, check=True, env={"PATH": os.environ["PATH"]}).stdout
        assert os.path.join(root, "lib", "libspanflame.so.1") in said.replace("libexec/spanflame/../../", ""), said


def test_nothing_lands_outside_the_five_folders():
    with tempfile.TemporaryDirectory() as root:
        assert {path.split("/")[0] for path in install(root)} <= {"bin", "include", "lib", "libexec", "share"}


def test_files_are_readable_by_all_and_written_by_their_owner():
    with tempfile.TemporaryDirectory() as root:
        for path in install(root):
            mode = os.stat(os.path.join(root, path)).st_mode & 0o777
            assert mode == (0o755 if path.startswith(("bin/", "libexec/")) and not path.endswith(".py") else 0o644), f"{path} {mode:o}"


tap.run(sys.modules[__name__])
