"""exposition.py - metrics text read as strictly as a scraper may."""
import re

OPEN = {"Accept": "application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5"}
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"^({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)(?: # \{{({LABEL})\}} (\S+) (\S+))?$")
SUFFIXES = {"counter": ("_total",), "gauge": ("",), "unknown": ("",), "histogram": ("_bucket", "_sum", "_count")}


def check(text, is_open):
    """Every rule of the two formats that our writer could break; returns {sample: value}."""
    assert text.endswith("\n") and (text.endswith("# EOF\n") if is_open else "# EOF" not in text)
    families, samples, family, kind = set(), {}, None, None
    for line in text.splitlines():
        if line == "# EOF":
            break
        if line.startswith("# HELP "):
            family, kind = line.split(" ", 3)[2], None
            assert family not in families, f"{family} comes twice"
            families.add(family)
            assert not (is_open and family.endswith("_total")), line
            continue
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == family and kind in SUFFIXES, line
            continue
        m = SAMPLE.match(line)
        assert m, f"not a sample: {line}"
        assert kind, f"no type before {line}"
        allowed = SUFFIXES[kind]
        if kind == "counter" and not is_open:
            allowed = ("",)
        assert m[1] in [family + suffix for suffix in allowed], f"{line} below {family}"
        key = (m[1], m[2])
        assert key not in samples, f"{key} comes twice"
        samples[key] = float(m[3].replace("+Inf", "inf"))
        assert not m[4] or (is_open and m[1].endswith("_bucket")), line
    check_histograms(samples)
    return samples


def check_histograms(samples):
    series = {}
    for (name, labels), value in samples.items():
        if not name.endswith("_bucket"):
            continue
        le = re.search(r'le="([^"]+)"', labels)[1]
        rest = re.sub(r',?le="[^"]+"', "", labels)
        series.setdefault((name[:-7], rest), []).append((float(le.replace("+Inf", "inf")), value))
    assert series
    for (name, rest), buckets in series.items():
        assert buckets == sorted(buckets), (name, rest, "out of order")
        values = [v for _, v in buckets]
        assert values == sorted(values), (name, rest, "falls")
        assert buckets[-1][0] == float("inf"), (name, rest)
        assert samples[(name + "_count", rest or None)] == values[-1]
        assert (name + "_sum", rest or None) in samples


def labels(**pairs):
    return ",".join(f'{k}="{v}"' for k, v in pairs.items())
