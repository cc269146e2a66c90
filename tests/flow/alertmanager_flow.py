#!/usr/bin/env python3
"""Debian's Alertmanager, running on loopback, takes our alerts as they fire and as they end."""
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from server import Server, free_port, make_span, tap  # noqa: E402

PROGRAM = shutil.which("prometheus-alertmanager")


def wait_for(condition, what, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            found = condition()
        except OSError:
            found = None
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(what)


def test_alertmanager_lists_what_fires_and_forgets_what_is_over():
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    server = Server(f"""alerts:
  interval: 1s
  url: http://spanflame.example
  alertmanager: ["{url}"]
  rules:
    - name: errors
      traceql: '{{ status = error }} | count_over_time() by (resource.service.name)'
      above: 2
      window: 10s
      labels: {{severity: page}}
      annotations: {{summary: '{{{{ $value }}}} errors'}}
""")
    path = os.path.join(server.home, "alertmanager.yml")
    with open(path, "w", encoding="utf-8") as f:
        f.write("route:\n  receiver: none\nreceivers:\n  - name: none\n")
    manager = subprocess.Popen([PROGRAM, f"--config.file={path}", f"--storage.path={server.home}/am",
                                f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def listed():
        with urllib.request.urlopen(f"{url}/api/v2/alerts", timeout=10) as answer:
            return json.load(answer)

    try:
        wait_for(lambda: listed() == [], "Alertmanager is ready")
        with server:
            server.send([make_span(service="shop", error=True) for _ in range(5)])
            alert = wait_for(listed, "Alertmanager has it")[0]
            assert alert["labels"] == {"alertname": "errors", "severity": "page", "resource_service_name": "shop"}, alert
            assert alert["annotations"]["summary"] == "5 errors" and alert["annotations"]["why"], alert
            assert alert["generatorURL"].startswith("http://spanflame.example/?view=search"), alert
            wait_for(lambda: listed() == [], "it is over")
    finally:
        manager.kill()
        manager.wait()


if __name__ == "__main__":
    if PROGRAM:
        tap.run(sys.modules[__name__])
    else:
        print("1..0 # SKIP prometheus-alertmanager is not installed")
