"""tools/sbom.py lists what the program needs and contains, with versions."""
import json
import os
import re
import subprocess
import sys
import tempfile

import tap

ROOT = os.environ["SOURCE_ROOT"]
BUILD = os.environ["BUILD_ROOT"]
SBOM = os.path.join(ROOT, "tools", "sbom.py")


def run(*args, **env):
    return subprocess.run([sys.executable, SBOM, "--build", BUILD, *args], capture_output=True, text=True, check=False,
                          env=dict(os.environ, **env))


def document():
    done = run(SOURCE_DATE_EPOCH="1700000000")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_library_that_the_program_needs_is_listed_with_its_version():
    said = subprocess.run(["ldd", os.path.join(BUILD, "spanflame")], capture_output=True, text=True, check=True).stdout
    packages = {p["name"]: p for p in document()["packages"]}
    for soname, name in (("libcurl.so.4", "curl"), ("libnghttp2.so.14", "nghttp2"), ("libssl.so.3", "openssl"),
                         ("libsqlite3.so.0", "sqlite"), ("libdeflate.so.0", "libdeflate")):
        assert soname in said, said
        assert re.match(r"\d+\.\d+", packages[name]["versionInfo"]), packages[name]


def test_code_inside_the_program_is_listed_and_has_its_notice():
    made = document()
    inside = [r["relatedSpdxElement"] for r in made["relationships"] if r["relationshipType"] == "CONTAINS"]
    assert sorted(inside) == ["SPDXRef-preact", "SPDXRef-xxhash"], inside
    with open(os.path.join(ROOT, "NOTICE"), encoding="utf-8") as f:
        notice = f.read().lower()
    assert all(name.split("-")[1] in notice for name in inside)


def test_names_are_unique_and_relations_lead_to_them():
    made = document()
    ids = [p["SPDXID"] for p in made["packages"]] + ["SPDXRef-DOCUMENT"]
    assert len(ids) == len(set(ids))
    for one in made["relationships"]:
        assert one["spdxElementId"] in ids and one["relatedSpdxElement"] in ids, one
    assert made["creationInfo"]["created"] == "2023-11-14T22:13:20Z"


def test_the_same_commit_gives_the_same_file():
    assert document() == document()


def test_a_library_that_nobody_listed_is_an_error():
    with tempfile.TemporaryDirectory() as folder:
        library, program = os.path.join(folder, "libstranger.so.7"), os.path.join(folder, "program")
        subprocess.run(["cc", "-shared", "-Wl,-soname,libstranger.so.7", "-x", "c", "-", "-o", library],
                       input="int stranger(void);int stranger(void){return 0;}", text=True, check=True)
        subprocess.run(["cc", "-x", "c", "-", "-x", "none", library, "-o", program], text=True, check=True,
                       input="int stranger(void);int main(void){return stranger();}")
        done = run(program)
    assert done.returncode == 1 and done.stderr == "sbom: tools/third_party.txt does not name libstranger.so.7\n", done


tap.run(sys.modules[__name__])
