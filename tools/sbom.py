#!/usr/bin/env python3
"""sbom.py [--build FOLDER] [--out FILE] - the bill of materials of a build, as SPDX 2.3 in JSON.

It lists Spanflame, every library that its program and libspanflame need at run time (read from these files, with the
versions they were built against and, on Debian, the package), and other people's code that is inside the program. The
date is that of the last commit (or SOURCE_DATE_EPOCH), so that the same commit on the same system gives the same file.
Exit status 1 when the program needs a library that tools/third_party.txt does not name.
"""
import argparse
import ctypes
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TABLE = os.path.join(ROOT, "tools", "third_party.txt")
PROGRAMS = ["spanflame", "collect/libspanflame.so.1.0.0"]


class Part(NamedTuple):
    name: str
    licence: str
    how: str  # linked: found at run time; inside: its code is in the program
    version_at: str
    sonames: list


def read_table(text):
    rows = [line.split() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [Part(row[0], row[1], row[2], row[3], row[4:]) for row in rows]


def say(*argv):
    """What a program prints, or nothing when it is not here or fails."""
    try:
        return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""


def needed(path):
    """The libraries that a program names."""
    text = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", text)


def header_version(name):
    """The version in a header: "#define LIBDEFLATE_VERSION_STRING "1.14"" and the like."""
    text = subprocess.run([os.environ.get("CC", "cc"), "-E", "-dM", "-include", name, "-x", "c", os.devnull],
                          capture_output=True, text=True, check=True).stdout
    return re.search(r'_VERSION_STRING "([^"]+)"', text)[1]


def version_of(part, build):
    kind, _, name = part.version_at.partition(":")
    if kind == "meson":
        with open(os.path.join(build, "meson-info", "intro-dependencies.json"), encoding="utf-8") as f:
            return next(found["version"] for found in json.load(f) if found["name"] == name)
    if kind == "npm":
        with open(os.path.join(ROOT, "web", "package-lock.json"), encoding="utf-8") as f:
            return json.load(f)["packages"][f"node_modules/{name}"]["version"]
    if kind == "header":
        return header_version(name)
    version = ctypes.CDLL("libc.so.6").gnu_get_libc_version  # the C library of the machine that builds
    version.restype = ctypes.c_char_p
    return version().decode()


def debian_purl(soname):
    """The Debian package of a library, or nothing on another system."""
    paths = re.findall(rf"^\s*{re.escape(soname)} .* => (\S+)$", say("ldconfig", "-p") or say("/sbin/ldconfig", "-p"), re.M)
    for path in paths:
        owner = say("dpkg-query", "-S", os.path.realpath(path)) or say("dpkg-query", "-S", path)
        if owner:
            found = say("dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}", owner.split(": ")[0]).split()
            if len(found) == 3:
                return f"pkg:deb/debian/{found[0]}@{found[1].replace('+', '%2B').replace(':', '%3A')}?arch={found[2]}"
    return ""


def purl_of(part, version):
    if part.version_at.startswith("npm:"):
        return f"pkg:npm/{part.name}@{version}"
    return next((purl for purl in map(debian_purl, part.sonames) if purl), "")


def package(name, version, licence, purl=""):
    made = {"SPDXID": f"SPDXRef-{name}", "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence, "copyrightText": "NOASSERTION"}
    if purl:
        made["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]
    return made


def relation(one, kind, other):
    return {"spdxElementId": f"SPDXRef-{one}", "relationshipType": kind, "relatedSpdxElement": f"SPDXRef-{other}"}


def make(parts, sonames, build, version, seconds):
    """The document: parts that are inside, and those that a name in `sonames` belongs to."""
    used = [part for part in parts if part.how == "inside" or set(part.sonames) & set(sonames)]
    packages = [package("spanflame", version, "Apache-2.0")]
    relations = [relation("DOCUMENT", "DESCRIBES", "spanflame")]
    for part in used:
        found = version_of(part, build)
        packages.append(package(part.name, found, part.licence, purl_of(part, found)))
        relations.append(relation("spanflame", "DYNAMIC_LINK" if part.how == "linked" else "CONTAINS", part.name))
    content = hashlib.sha256(json.dumps(packages, sort_keys=True).encode()).hexdigest()[:32]
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": f"spanflame-{version}",
            "documentNamespace": f"urn:spanflame:sbom:{version}:{content}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds)),
                             "creators": ["Tool: spanflame-sbom"]},
            "packages": packages, "relationships": relations}


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="the build's folder (build)")
    parser.add_argument("--out", help="write it there, not to the screen")
    parser.add_argument("programs", nargs="*", help="files to read instead of the build's")
    args = parser.parse_args(argv)
    with open(TABLE, encoding="utf-8") as f:
        parts = read_table(f.read())
    sonames = {name for program in args.programs or [os.path.join(args.build, p) for p in PROGRAMS]
               for name in needed(program)}
    unknown = sorted(sonames - {name for part in parts for name in part.sonames})
    if unknown:
        print(f"sbom: tools/third_party.txt does not name {', '.join(unknown)}", file=sys.stderr)
        return 1
    with open(os.path.join(ROOT, "meson.build"), encoding="utf-8") as f:
        version = re.search(r"^ *version: '([^']+)',$", f.read(), re.M)[1]
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or say("git", "log", "-1", "--format=%ct") or 0)
    text = json.dumps(make(parts, sonames, args.build, version, seconds), indent=1) + "\n"
    if args.out:
        with open(args.out, "w", encoding="utf-8") as f:
            f.write(text)
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
