"""docs/limits.md is what the header says."""
import os
import subprocess
import sys

import tap

ROOT = os.environ["SOURCE_ROOT"]


def test_the_page_is_what_the_header_says():
    want = subprocess.run([sys.executable, os.path.join(ROOT, "tools/limits_doc.py")], check=True,
                          capture_output=True, text=True).stdout
    with open(os.path.join(ROOT, "docs/limits.md"), encoding="utf-8") as f:
        assert f.read() == want, "renew it: tools/limits_doc.py > docs/limits.md"


def test_every_limit_is_on_the_page():
    with open(os.path.join(ROOT, "src/base/limits.h"), encoding="utf-8") as f:
        n_limits = f.read().count("#define SF_LIMIT_")
    with open(os.path.join(ROOT, "docs/limits.md"), encoding="utf-8") as f:
        rows = [line for line in f if line.startswith("| ") and not line.startswith("| limit ")]
    assert len(rows) == n_limits, f"{len(rows)} rows for {n_limits} limits"


tap.run(sys.modules[__name__])
