#!/usr/bin/env python3
"""deploy/grafana's dashboards against Grafana's own schema, the types of @grafana/schema: whole boards, the options of their
panels and the queries of the Tempo and Pyroscope data sources. A fault that is put into one is found."""
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))
import toolchain  # noqa: E402
from toolchain import tap  # noqa: E402

BOARDS = sorted(glob.glob(os.path.join(os.environ["SOURCE_ROOT"], "deploy", "grafana", "provisioning", "dashboards", "*.json")))


def check(*files):
    done = subprocess.run([*toolchain.client("grafana_schema"), *files], capture_output=True, text=True, timeout=300, check=True)
    *faults, count = done.stdout.splitlines()
    return faults, int(count.split()[0])


def test_the_dashboards_fit_grafanas_schema():
    faults, n = check(*BOARDS)
    assert not faults and n > 20 and len(BOARDS) == 3, faults


def test_a_fault_is_found():
    with open(BOARDS[0], encoding="utf-8") as f:
        board = json.load(f)
    panel = next(p for p in board["panels"] if p["type"] == "timeseries")
    for change in (lambda: board.update(schemaVersoin=1), lambda: board.update(graphTooltip="both"),
                   lambda: panel.update(gridPos={"h": 8}), lambda: panel["options"].update(legends={})):
        kept = json.dumps(board)
        panel.setdefault("options", {})
        change()
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump(board, f)
            f.flush()
            assert check(f.name)[0], change
        board = json.loads(kept)
        panel = next(p for p in board["panels"] if p["type"] == "timeseries")


if __name__ == "__main__":
    tap.run(sys.modules[__name__])
