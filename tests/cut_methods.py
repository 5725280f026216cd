"""The methods of the catalogue with some of their steps, so that all of them run in about a minute."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import fathom
from fathom.catalog import method_text
from small_trace import is_of_trace, write_trace

SN861, PM1743 = "twin:wd-ultrastar-dc-sn861-7.68tb", "twin:samsung-pm1743-7.68tb"
SMALL = "twin:samsung-pm9a3-7.68tb?slice_denominator=4096"


@dataclass(frozen=True)
class Cut:
    """What of a method is run: on which targets, which steps by the start of their names, and texts replaced in it."""

    targets: Sequence[str] = (SN861,)
    steps: Sequence[str] = ("",)
    replaced: Mapping[str, str] = field(default_factory=dict)


POINTS = {'latency = "service" }': 'latency = "service", points = ["20%", "60%", "100%", "120%"] }'}
ROUGH = {'precision = "1%"': 'precision = "5%"'}
"""Ends windows early: the page is looked at, not the figures."""
DEMANDS = {
    "values = [32, 16, 8, 4, 2, 1], labels = [": "values = [32, 4, 1], labels = [",
    '"iodepth 16", "iodepth 8", ': "",
    '"iodepth 4", "iodepth 2", ': '"iodepth 4", ',
    '"16 threads", "8 threads", ': "",
    '"4 threads", "2 threads", ': '"4 threads", ',
    "most = 25": "most = 6",
}
FEWER_DEMANDS = DEMANDS | {
    "values = [32, 4, 1]": "values = [8, 1]",
    '"iodepth 32", "iodepth 4"': '"iodepth 8"',
    '"32 threads", "4 threads"': '"8 threads"',
    "iodepth32-threads32": "iodepth8-threads8",
}
CUTS = {
    "added-latency": Cut(["twin:atto-xstreamcore-9400"], ["fill", "settle", "4k-rand-read"]),
    "application-mixes": Cut(steps=["fill", "sql", "oracle"], replaced=POINTS | ROUGH),
    "cluster-scaling": Cut(["twin:weka-6x-micron-7450-pro"], ["fill", "4k-rand-read"], ROUGH),
    "data-placement": Cut(),
    "depth-scaling": Cut(),
    "drive-array-filesystem": Cut(["twin:wd-ultrastar-dc-hc560-20tb", "twin:wd-ultrastar-dc-hc650-20tb"]),
    "enterprise-steady-state": Cut(["twin:micron-m510dc-480gb"], ["sequential", "random-write"]),
    "four-corners": Cut([SN861, PM1743]),
    "gpu-feed": Cut([SN861, PM1743]),
    "mixed-ratio": Cut(steps=["fill", "settle", "4k-rand-write", "4k-rand-50", "4k-rand-70", "4k-rand-read"]),
    "rate-curves": Cut(steps=["fill", "16k-seq-read"], replaced=POINTS),
    "snia-cbw": Cut(steps=["purge", "precondition", "cbw"], replaced=DEMANDS),
    "snia-dirth": Cut(steps=["purge", "precondition", "dirth"], replaced=DEMANDS),
    "snia-hir": Cut(
        [SMALL], steps=["purge", "precondition", "settle", "idle-5s", "idle-50s"], replaced={"= 36": "= 5"}
    ),
    "snia-iops": Cut(
        replaced={
            'names = ["r100", "r95", "r65", "r50", "r35", "r5", "r0"]': 'names = ["r100", "r65", "r0"]',
            'labels = ["reads", "95 % reads", "65 % reads", "50 % reads", "35 % reads", "5 % reads", "writes"]': (
                'labels = ["reads", "65 % reads", "writes"]'
            ),
            '"read", { read = 95, write = 5 }, ': '"read", ',
            "{ read = 50, write = 50 }, { read = 35, write = 65 }, { read = 5, write = 95 }, ": "",
            '"128KiB", "64KiB", "32KiB", "16KiB", "8KiB", "4KiB", "512"]': '"64KiB", "4KiB"]',
            '"128kib", "64kib", "32kib", "16kib", "8kib", "4kib", "512b"]': '"64kib", "4kib"]',
            '"128 KiB", "64 KiB", "32 KiB", "16 KiB", "8 KiB", "4 KiB", "512 B"]': '"64 KiB", "4 KiB"]',
            "most = 25": "most = 6",
        }
    ),
    "snia-latency": Cut(),
    "snia-rwsw-dirth": Cut([SMALL], ["purge", "precondition", "dirth"], FEWER_DEMANDS),
    "snia-rwsw-multi-wsat": Cut([SMALL]),
    "snia-rwsw-replay-native": Cut([SMALL]),
    "snia-rwsw-streams-wsat": Cut([SMALL], replaced={'written = "4x"': 'written = "1x"'}),
    "snia-throughput": Cut(),
    "snia-wsat": Cut(),
    "snia-xsr": Cut(),
    "what-if": Cut([f"{SN861}?settled_share=1"]),
    "what-if-system": Cut(["twin:atto-xstreamcore-9400"]),
    "write-amplification": Cut(
        [SMALL],
        steps=["purge", "fill", "write"],
        replaced={
            "{ zipf = 0.6 }, { zipf = 0.8 }, { zipf = 0.99 }, ": "",
            '"zipf-0.6", "zipf-0.8", "zipf-0.99", ': "",
            '"zipf 0.6", "zipf 0.8", "zipf 0.99", ': "",
        },
    ),
}


def cut(method: str, folder: Path) -> Path:
    """The built-in method with some of its steps, as a file."""
    one = CUTS[method]
    head, *steps = method_text(method).split("[[steps]]")
    names = [found[1] if (found := re.search(r'^name\s*=\s*"([^"]+)"', step, re.M)) else "" for step in steps]
    kept = [step for name, step in zip(names, steps, strict=True) if name.startswith(tuple(one.steps))]
    text = "[[steps]]".join([head, *kept])
    for old, new in one.replaced.items():
        assert old in text, old
        text = text.replace(old, new)
    path = folder / f"{method}.toml"
    path.write_text(text)
    return path


def run_cut(method: str, folder: Path) -> Path:
    """Runs the cut method, shortened, in the folder. Returns the run."""
    trace = fathom.Replay(write_trace(folder / "small.csv")) if is_of_trace(method) else None
    targets = list(CUTS[method].targets)
    return fathom.run(str(cut(method, folder)), targets=targets, quick=True, out=folder, replay=trace).path
