#!/usr/bin/env python3
"""check-config, token and redact as a person runs them: what they print, and their exit codes."""
import hashlib
import json
import os
import re
import subprocess
import tempfile

SPANFLAME = os.environ["SPANFLAME"]
SOURCE = os.environ["SOURCE_ROOT"]
checks = []


def run(*args, env=None):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("SPANFLAME_")}
    done = subprocess.run([SPANFLAME, *args], capture_output=True, text=True, env={**clean, **(env or {})}, check=False)
    return done.returncode, done.stdout, done.stderr


def check(name, is_fine, detail=""):
    checks.append((name, bool(is_fine), detail))


def origins(text):
    """path -> (value, origin) of check-config's lines."""
    found = {}
    for line in text.splitlines():
        left, _, origin = line.partition("  # ")
        path, _, value = left.partition(" ")
        found[path] = (value.strip(), origin)
    return found


def fields():
    """key -> the member of struct sf_config that it sets, as the table of keys says."""
    with open(os.path.join(SOURCE, "src", "app", "config_table.c"), encoding="utf-8") as f:
        return dict(re.findall(r'\{"([^"]+)",\s*SF_CONFIG_\w+,\s*AT\(([\w.]+)\)', f.read()))


def sources(*below, leave=()):
    """The text of all sources below some folders of src/."""
    text = ""
    for place in below:
        for folder, _, names in os.walk(os.path.join(SOURCE, "src", place)):
            for name in sorted(names):
                if name.endswith(".c") and name not in leave:
                    with open(os.path.join(folder, name), encoding="utf-8") as f:
                        text += f.read()
    return text


def is_used(member, text):
    return re.search(r"(\.|->)" + re.escape(member.split(".")[-1]) + r"\b", text)


with tempfile.TemporaryDirectory() as folder:
    good = os.path.join(folder, "good.yaml")
    with open(good, "w", encoding="utf-8") as f:
        f.write("retention:\n  spans: 3d\nmemory: 1GiB\n")
    code, out, err = run("check-config", "--config", good, "--set", "memory=2GiB",
                         env={"SPANFLAME_RETENTION_DETAIL": "1d"})
    got = origins(out)
    check("check-config says what is in effect and where it came from",
          code == 0 and got["retention.spans"] == ("3d", good + ":2") and got["memory"] == ("2GiB", "--set")
          and got["retention.detail"] == ("1d", "SPANFLAME_RETENTION_DETAIL")
          and got["limits.body"] == ("64MiB", "default"), out + err)

    code, out, err = run("check-config", "--config", good, "--output", "json")
    answer = json.loads(out)
    by_key = {setting["key"]: setting for setting in answer["settings"]}
    check("check-config answers in JSON too",
          code == 0 and answer["warnings"] == [] and "error" not in answer
          and by_key["retention.spans"] == {"key": "retention.spans", "value": "3d", "origin": good + ":2"}
          and sorted(by_key) == sorted(got), out + err)

    # Every key of the table with its default, said in the environment.
    defaults = {key: value for key, (value, _) in origins(run("check-config")[1]).items()}
    said = {"SPANFLAME_" + key.replace(".", "_").upper(): "" if value == "-" else value
            for key, value in defaults.items()}
    code, out, err = run("check-config", env=said)
    server_s = {"profiling.conditional." + key for key in ("slow_request_threshold", "cpu_threshold_percent", "profile_errors", "baseline",
                                                           "flagged", "rules")}
    n_collectors_ = len([key for key in defaults if key.startswith("profiling.")]) - len(server_s)
    check("check-config takes every default as it writes it, and names those that only collectors use",
          code == 0 and len(err.splitlines()) == 1 and n_collectors_ > 20
          and err.startswith(f"warning: profiling.cpu.enabled and {n_collectors_ - 1} other keys of profiling: used by collectors only"), err)
    err = run("check-config", "--set", "profiling.cpu.sample_rate=50")[2]
    check("one key for collectors is named alone", err.startswith("warning: profiling.cpu.sample_rate: used by collectors only"), err)
    err = run("check-config", *(f"--set={key}={defaults[key]}" for key in sorted(server_s - {"profiling.conditional.rules"})))[2]
    check("keys of the profiling block that the server uses come without a warning", err == "", err)
    # What the server sets from a key, app hands to the rooms; retention goes to the store as it is. Only the text of
    # the sources can report it for every key. (What collectors do with theirs is tested with the library.)
    handed = sources("app", leave=("config_table.c", "config_value.c", "config_yaml.c", "config_render.c", "config.c"))
    kept = sources("store")
    unread = {key for key, member in fields().items() if not key.startswith("profiling.")
              and not is_used(member, kept if key.startswith("retention.") else handed)}
    check("every other key of the server is read by something", len(fields()) > 60
          and not unread, str(unread))

    bad = os.path.join(folder, "bad.yaml")
    with open(bad, "w", encoding="utf-8") as f:
        f.write("retention:\n  span: 3d\n")
    code, out, err = run("check-config", "--config", bad)
    check("a mistake names file, line and the nearest key, and exits 1",
          code == 1 and err == f"spanflame check-config: {bad}:2: there is no key retention.span; "
          "did you mean retention.spans?\n", err)

    code, out, err = run("check-config", "--listen", "0.0.0.0:0")
    check("a public address without a token is refused with the line to add",
          code == 1 and "auth: {token_file: /etc/spanflame/tokens}" in err, err)
    code, out, err = run("check-config", "--listen", "0.0.0.0:0", "--output", "json")
    check("in JSON as well", code == 1 and "token_file" in json.loads(out)["error"] and "token_file" in err, out + err)
    code, out, err = run("check-config", "--listen", "0.0.0.0:0", "--allow-public-without-auth")
    check("or allowed in as many words", code == 0, err)
    code, out, err = run("check-config", "--lisen", "x")
    check("a mistyped flag exits 2 and names the nearest", code == 2 and "--listen" in err, err)
    code, out, err = run("check-config", "--set", "redact.patterns=/a(?=b)/")
    check("a pattern that cannot be bounded is refused", code == 1 and "redact.patterns" in err, err)

    code, out, err = run("token", "new", "--name", "ci", "--scopes", "write")
    lines = [line for line in out.splitlines() if line and not line.startswith("#")]
    check("token new prints a token and the line with its hash",
          code == 0 and len(lines) == 2
          and lines[1] == "ci:write:" + hashlib.sha256(lines[0].encode()).hexdigest(), out)

    code, out, err = run("token", "new", "--name", "ci", "--output", "json")
    made = json.loads(out)
    check("token new answers in JSON too", code == 0 and made["name"] == "ci" and made["scopes"] == "read,write"
          and made["line"] == "ci:read,write:" + hashlib.sha256(made["token"].encode()).hexdigest(), out)
    code, out, err = run("version", "--output", "json")
    check("and so does version", code == 0 and run("version")[1] == f"spanflame {json.loads(out)['version']}\n", out)
    code, out, err = run("version", "--output", "yaml")
    check("another form exits 2 and says which there are", code == 2 and "text or json" in err, err)

    traces = os.path.join(folder, "traces.json")
    attributes = [{"key": "db.password", "value": {"stringValue": "hunter2hunter2"}},
                  {"key": "note", "value": {"stringValue": "for acme"}}]
    span = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "GET /?token=sesame",
            "attributes": attributes}
    with open(traces, "w", encoding="utf-8") as f:
        json.dump({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}, f)
    with open(traces, "rb") as f:
        before = f.read()
    code, out, err = run("redact", "--dry-run", traces, "--set", "redact.patterns=acme")
    with open(traces, "rb") as f:
        after = f.read()
    check("redact --dry-run shows places and rules", code == 0 and 'span.attributes["db.password"]  word: password' in out
          and "span.name  shape: secret=value" in out and "pattern: acme" in out and "3 changes in 1 of 1 spans" in out,
          out + err)
    check("and neither prints a secret nor touches the file",
          "hunter2" not in out and "sesame" not in out and before == after, out)
    code, out, err = run("redact", "--dry-run", traces, "--output", "json")
    answer = json.loads(out)
    check("redact answers in JSON too, without the secrets",
          code == 0 and (answer["spans"], answer["changedSpans"], answer["refusedSpans"]) == (1, 1, 0)
          and {"spanId": "eee19b7ec3c1b174", "place": "span.attributes", "key": "db.password", "rule": "word: password",
               "begins": "h", "bytes": 14} in answer["changes"] and len(answer["changes"]) == 2
          and "hunter2" not in out and "sesame" not in out, out + err)
    code, out, err = run("redact", traces)
    check("redact without --dry-run exits 2", code == 2, err)
    code, out, err = run("redact", "--dry-run", good)
    check("a file of something else exits 1 with a sentence", code == 1 and err.startswith("spanflame redact: "), err)

# What people copy from the docs is taken as it stands there.
for page, number, before in (("alerts", 0, ""), ("alerts", 1, "alerts:\n  rules:\n"), ("scrape", 0, ""), ("redaction", 0, ""), ("symbols", 0, ""),
                             ("limits-per-tenant", 0, None), ("configuration", 0, ""), ("configuration", 1, "")):
    with open(os.path.join(SOURCE, "docs", page + ".md"), encoding="utf-8") as f:
        block = re.findall(r"```yaml\n(.*?)```", f.read(), re.S)[number]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "example.yaml")
        with open(path, "w", encoding="utf-8") as f:
            f.write((before or "") + block)
        code, out, err = run("check-config", *(("--set", "limits.overrides_file=" + path) if before is None else ("--config", path)))
    check(f"example {number + 1} of docs/{page}.md is a configuration", code == 0, err)

print(f"1..{len(checks)}")
for i, (name, is_fine, detail) in enumerate(checks, 1):
    print(f"{'ok' if is_fine else 'not ok'} {i} - {name}")
    if not is_fine:
        print("\n".join("# " + line for line in detail.splitlines()))
