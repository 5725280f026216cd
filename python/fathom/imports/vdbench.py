"""Methods from parameter files of Vdbench 5.04 for raw I/O: storage, workload and run definitions (`sd`, `wd`, `rd`).

Meanings and defaults are those of its user's guide; where they differ from a method's, a note says so.
"""

import fnmatch
import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from fathom.errors import UsageError
from fathom.imports.draft import Draft, DraftStep, Value, name_of
from fathom.imports.units import bytes_of, duration_text, number_of, seconds_of, size_text

#: Vdbench's own defaults.
_THREADS, _ELAPSED_S, _XFERSIZE, _CURVE = 8, 30.0, "4k", ["10", "50", "70", "80", "90", "100"]
_LEFT_OUT = ("rhpct", "whpct", "hitarea", "priority")
_OF_WORKLOADS = ("rdpct", "seekpct", "xfersize", "range", "stride", "skew", "iorate", *_LEFT_OUT)
#: What says nothing of the I/O, or what Fathom does by itself.
_NOT_OF_THE_IO = re.compile(
    r"sd|wd|rd|lun|host|name|interval|report|histogram|messagescan|monitor|debug|create_anchors|endcmd|startcmd"
    r"|port|system|user|shell|vdbench|jvms|clients"
)
_MOST_VALUES = 1000
_OF_RUNS = ("threads", "elapsed", "warmup", "curve", "distribution", "pause", "maxdata", "openflags")
#: Runs for each of several values.
_FOR = ("forthreads", "forxfersize", "forrdpct", "forseekpct")


@dataclass(frozen=True)
class _Definition:
    """One line: its keys as written, values in parentheses as lists."""

    kind: str
    name: str
    place: str
    keys: Mapping[str, list[str]]

    def text(self, key: str, default: str) -> str:
        """The value of a key that has one."""
        return self.keys[key][0] if self.keys.get(key) else default

    def number(self, key: str, default: float) -> float:
        """The same, a number. Raises UsageError."""
        return number_of(self.text(key, str(default)), f"{self.place}: {key}")


def from_vdbench(text: str, file: str) -> Draft:
    """The method that a parameter file's runs are, one after the other. Raises UsageError."""
    draft = Draft(source="Vdbench")
    storage: list[_Definition] = []
    workloads: list[_Definition] = []
    content: dict[str, Value] = {}
    runs = 0
    for one in _definitions(text, file):
        match one.kind:
            case "sd":
                storage.append(one)
                _aim(draft, one)
            case "wd":
                workloads.append(one)
            case "rd":
                runs += 1
                _add_run(draft, _Run(one, workloads, storage, content, draft))
            case "fsd" | "fwd":
                raise UsageError(
                    f"{one.place}: file-system workloads have no counterpart",
                    "import the sd, wd and rd lines",
                )
            case "compratio" | "dedupratio":
                ratio = number_of(one.name, one.place)
                key = "compressible" if one.kind == "compratio" else "dedup"
                content[key] = f"{100 * (1 - 1 / max(ratio, 1.0)):.4g}%"
            case "hd":
                draft.note(f"{one.place}: many hosts are given to a run: fathom run --hosts FILE")
            case kind if not _NOT_OF_THE_IO.fullmatch(kind):
                draft.note(f"{one.place}: {kind}={one.name} has no counterpart and is left out")
            case _:
                pass
    if not runs:
        raise UsageError(f"{file}: no run", "expected an rd= line")
    return draft


def _definitions(text: str, file: str) -> Iterator[_Definition]:
    """The lines, with the defaults before them (`sd=default`, `wd=default`, `rd=default`)."""
    defaults: dict[str, dict[str, list[str]]] = {}
    for place, line in _lines(text, file):
        pairs = list(_pairs(line, place))
        kind, named = pairs[0]
        name = named[0] if named else ""
        keys = dict(pairs[1:])
        if name == "default":
            defaults.setdefault(kind, {}).update(keys)
        else:
            yield _Definition(kind, name, place, defaults.get(kind, {}) | keys)


def _lines(text: str, file: str) -> Iterator[tuple[str, str]]:
    """Lines without comments; one that ends in a comma goes on in the next."""
    gathered, place = "", ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line[0] in "*#/":
            continue
        if line.split("=")[0] == "include":
            raise UsageError(f"{file}:{number}: include is not followed", "put the other file's lines here")
        # What follows a space is a comment.
        line = re.split(r"\s+(?![^(]*\))", line)[0] if not line.endswith(",") else line
        place = place or f"{file}:{number}"
        gathered += line
        if not line.endswith(","):
            yield place, gathered
            gathered, place = "", ""
    if gathered:
        yield place, gathered.rstrip(",")


def _pairs(line: str, place: str) -> Iterator[tuple[str, list[str]]]:
    """`a=1,b=(2,3)` as keys with their values; quotes are dropped."""
    for part in re.findall(r"(?:[^,(]|\([^)]*\))+", line):
        key, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"{place}: {part} is no key=value", "separate them by commas")
        inner = value.strip().strip("()")
        yield key.strip().lower(), [one.strip().strip("\"'") for one in inner.split(",") if one.strip()]


def _aim(draft: Draft, storage: _Definition) -> None:
    if lun := storage.text("lun", ""):
        draft.aim(lun if lun.startswith("/dev/") else f"file:{lun}")
    for key in storage.keys:
        known = key in (*_OF_WORKLOADS, "threads", "openflags", "size", "count")
        if not known and not _NOT_OF_THE_IO.fullmatch(key):
            draft.note(f"{storage.place}: {key} has no counterpart and is left out")


class _Run:
    """One `rd` with the definitions that it names."""

    def __init__(
        self,
        run: _Definition,
        workloads: Sequence[_Definition],
        storage: Sequence[_Definition],
        content: Mapping[str, Value],
        draft: Draft,
    ) -> None:
        self.run = run
        self.content = content
        self.draft = draft
        self.workloads = [self._workload(one) for one in _named(run, "wd", workloads)] or [
            self._workload(run)
        ]
        named = [one for workload in self.workloads for one in _named(workload, "sd", storage)]
        self.storage = list({one.name: one for one in named}.values()) or list(storage)
        self._tell_left_out()

    def _workload(self, workload: _Definition) -> _Definition:
        """With what the run says of the workload itself."""
        own = {
            key: self.run.keys[key]
            for key in ("sd", *_OF_WORKLOADS)
            if key in self.run.keys and key != "iorate"
        }
        return _Definition("wd", workload.name, workload.place, {**workload.keys, **own})

    def _tell_left_out(self) -> None:
        known = (*_OF_WORKLOADS, "openflags")
        for workload in self.workloads:
            for key in workload.keys:
                if key in _LEFT_OUT or (key not in known and not _NOT_OF_THE_IO.fullmatch(key)):
                    self.draft.note(f"{workload.place}: {key} has no counterpart and is left out")
        known = (*_OF_WORKLOADS, *_FOR, *_OF_RUNS)
        for key in self.run.keys:
            if key not in known and not _NOT_OF_THE_IO.fullmatch(key):
                self.draft.note(f"{self.run.place}: {key} has no counterpart and is left out")

    @property
    def seconds(self) -> float:
        """How long it is measured."""
        return seconds_of(self.run.text("elapsed", f"{_ELAPSED_S:g}"), f"{self.run.place}: elapsed")

    def threads(self, given: str | None = None) -> int:
        """I/Os in flight on all storage together."""
        if given or "threads" in self.run.keys:
            return max(len(self.storage), 1) * int(
                number_of(given or self.run.text("threads", ""), self.run.place)
            )
        return int(sum(one.number("threads", _THREADS) for one in self.storage)) or _THREADS

    def load(self, rate: float | None = None) -> dict[str, Value]:
        """Closed, or open at a rate; for all targets together where there are several."""
        load: dict[str, Value] = {"threads": self.threads(), "iodepth": 1}
        if rate is not None:
            load |= {"rate": f"{rate:g}/s", "arrival": self._arrival()}
        if len(self.storage) > 1:
            load["split"] = "even"
        return load

    def _arrival(self) -> str:
        found = self.run.text("distribution", "exponential")
        for known in ("exponential", "uniform", "deterministic"):
            if known.startswith(found[:1].lower()):
                return known
        raise UsageError(
            f"{self.run.place}: distribution={found} has no counterpart",
            "exponential, uniform or deterministic",
        )

    def io(self, workload: _Definition) -> dict[str, Value]:
        """What a workload issues, and where."""
        io: dict[str, Value] = {
            "mix": _mix(workload.number("rdpct", 100.0)),
            "block": _block(workload),
            "pattern": _pattern(workload.text("seekpct", "100"), f"{workload.place}: seekpct"),
        }
        if "stride" in workload.keys:
            raise UsageError(
                f"{workload.place}: stride has no counterpart", "a method's pattern { stride = ... } is fixed"
            )
        if bounds := workload.keys.get("range"):
            io["region"] = _region(bounds, f"{workload.place}: range")
        if self.content:
            io["content"] = dict(self.content)
        return io

    def job(self, rate: float | None = None) -> dict[str, Value]:
        """The whole job; with several workloads one of streams."""
        flags = [
            flag
            for one in (*self.storage, *self.workloads, self.run)
            for flag in one.keys.get("openflags", [])
        ]
        own: dict[str, Value] = {
            "direct": any(flag in ("o_direct", "directio") for flag in flags),
            "until": self._until(),
        }
        for flag in flags:
            if flag not in ("o_direct", "directio"):
                self.draft.note(f"{self.run.place}: openflags={flag} has no counterpart and is left out")
        if len(self.workloads) == 1:
            return {**self.io(self.workloads[0]), "load": self.load(rate), **own}
        return {**own, "streams": [self._stream(one, share, rate) for one, share in self._shares()]}

    def _until(self) -> dict[str, Value]:
        until: dict[str, Value] = {"time": duration_text(self.seconds)}
        if text := self.run.text("maxdata", ""):
            place = f"{self.run.place}: maxdata"
            if text.isdigit() and int(text) < 100:
                self.draft.note(
                    f"{place}: multiples of the storage's size have no counterpart for reads: left out"
                )
            else:
                until["bytes"] = size_text(bytes_of(text, place))
        return until

    def _shares(self) -> list[tuple[_Definition, float]]:
        """Each workload's part of the rate: its skew, else an equal part of what is left."""
        given = [one.number("skew", 0.0) for one in self.workloads]
        left, without = 100.0 - sum(given), given.count(0.0)
        return [(one, skew or left / without) for one, skew in zip(self.workloads, given, strict=True)]

    def _stream(self, workload: _Definition, share: float, rate: float | None) -> dict[str, Value]:
        if rate is None and "iorate" not in workload.keys:
            self.draft.note(
                f"{self.run.place}: iorate=max over several workloads: here each has its part of the threads and runs "
                "as fast as it can; Vdbench keeps their rates at their skew"
            )
        own = workload.text("iorate", "max")
        rate = number_of(own, f"{workload.place}: iorate") if own != "max" else rate and rate * share / 100
        load = self.load(rate)
        load["threads"] = max(round(self.threads() * share / 100), 1)
        return {"name": name_of(workload.name), **self.io(workload), "load": load}


def _named(definition: _Definition, key: str, among: Sequence[_Definition]) -> list[_Definition]:
    """Those that a definition names, stars included. Raises UsageError where there is none of a name."""
    found: list[_Definition] = []
    for name in definition.keys.get(key, []):
        matching = [one for one in among if fnmatch.fnmatchcase(one.name, name)]
        if not matching:
            raise UsageError(
                f"{definition.place}: {key}={name}: there is none", f"define it above, with {key}={name}"
            )
        found += matching
    return found


def _add_run(draft: Draft, run: _Run) -> None:
    one = run.run
    warmup_s = seconds_of(one.text("warmup", "0"), f"{one.place}: warmup")
    for ending, keys, rate in _rates(run):
        job = run.job(rate)
        if keys and "streams" in job:
            raise UsageError(
                f"{one.place}: a curve of several workloads has no counterpart", "give each a run of its own"
            )
        for suffix, changes in _values(run):
            name = name_of(one.name + ending + suffix)
            changed = job | changes
            if "load" in changes:
                changed["load"] = cast("dict[str, Value]", job["load"]) | cast(
                    "dict[str, Value]", changes["load"]
                )
            if warmup_s:
                warm = changed | {"until": {"time": duration_text(warmup_s)}}
                draft.add(DraftStep(f"{name}-warmup", {"label": f"warm-up of {name}"}, warm))
            draft.add(DraftStep(name, dict(keys), changed))
    if pause_s := seconds_of(one.text("pause", "0"), f"{one.place}: pause"):
        draft.add(DraftStep(f"{name_of(one.name)}-pause", {"kind": "idle", "time": duration_text(pause_s)}))


def _rates(run: _Run) -> Iterator[tuple[str, dict[str, Value], float | None]]:
    """A step for each rate: what its name ends in, its own keys, the rate. Without one the workload's own counts."""
    one = run.run
    given = one.keys.get("iorate") or run.workloads[0].keys.get("iorate") or ["max"]
    for text in _ranges(given, f"{one.place}: iorate"):
        if text == "max":
            yield "", {}, None
        elif text == "curve":
            points = [f"{float(point):g}%" for point in _ranges(one.keys.get("curve") or _CURVE, one.place)]
            curve: dict[str, Value] = {
                "points": points,
                "time": duration_text(run.seconds),
                "response": "service",
            }
            yield "", {"kind": "curve", "curve": curve}, None
        else:
            rate = number_of(text, f"{one.place}: iorate")
            yield (f"-{rate:g}" if len(given) > 1 or "-" in given[0] else ""), {}, rate


def _ranges(texts: Sequence[str], place: str) -> list[str]:
    """Values as written, `(10-100,10)` as 10, 20 ... 100: a step follows its range; `d` doubles. Raises UsageError."""
    given, values = list(texts), list[str]()
    while given:
        text = given.pop(0)
        bounds = re.fullmatch(r"(\d+)([kmg]?)-(\d+)([kmg]?)", text.lower())
        if not bounds:
            values.append(text)
            continue
        step = given.pop(0) if given else "d"
        value, last = int(bounds[1]), int(bounds[3])
        while value <= last:
            if len(values) == _MOST_VALUES:
                raise UsageError(f"{place}: {text}: more than {_MOST_VALUES} values", "take a larger step")
            values.append(f"{value}{bounds[4] or bounds[2]}")
            more = value if step == "d" else int(re.sub(r"\D", "", step) or 0)
            value += max(more, 1)
    return values


def _values(run: _Run) -> Iterator[tuple[str, dict[str, Value]]]:
    """A step for each combination of the values that the run lists: what its name ends in, and the keys that differ."""
    one = run.run
    axes: list[list[tuple[str, dict[str, Value]]]] = []
    threads = one.keys.get("forthreads") or (
        one.keys["threads"] if len(one.keys.get("threads", [])) > 1 else []
    )
    axes.append(
        [(f"-t{text}", {"load": {"threads": run.threads(text)}}) for text in _ranges(threads, one.place)]
    )
    for key, of_job, letter, value in (
        ("forxfersize", "block", "", lambda text: size_text(bytes_of(text, one.place))),
        ("forrdpct", "mix", "r", lambda text: _mix(number_of(text, one.place))),
        ("forseekpct", "pattern", "seek", lambda text: _pattern(text, one.place)),
    ):
        texts = _ranges(one.keys.get(key, []), one.place)
        axes.append([(f"-{letter}{text}", {of_job: value(text)}) for text in texts])
    axes = [axis for axis in axes if axis]
    if axes and len(run.workloads) > 1:
        raise UsageError(
            f"{one.place}: runs for each value, of several workloads, have no counterpart",
            "give each value a run",
        )
    if math.prod(map(len, axes)) > _MOST_VALUES:
        raise UsageError(f"{one.place}: more than {_MOST_VALUES} combinations", "list fewer values")
    for combination in itertools.product(*axes):
        yield (
            "".join(suffix for suffix, _ in combination),
            {key: value for _, keys in combination for key, value in keys.items()},
        )


def _mix(reads: float) -> Value:
    if reads in (0.0, 100.0):
        return "read" if reads else "write"
    return {"read": reads, "write": 100.0 - reads}


def _pattern(text: str, place: str) -> Value:
    lower = text.lower()
    if lower.startswith(("seq", "eof")):
        return "sequential"
    if lower.startswith("rand"):
        return "uniform"
    seeks = number_of(text, place)
    if seeks in (0.0, 100.0):
        return "uniform" if seeks else "sequential"
    return {"random": f"{seeks:g}%"}


def _block(workload: _Definition) -> Value:
    """One size, or a list of sizes with shares. Three values are a least, a most and an alignment."""
    given = workload.keys.get("xfersize") or [_XFERSIZE]
    place = f"{workload.place}: xfersize"
    if len(given) == 1:
        return size_text(bytes_of(given[0], place))
    if len(given) % 2:
        raise UsageError(
            f"{place}: sizes at random have no counterpart", "list them with shares: (4k,50,8k,50)"
        )
    pairs = cast("list[tuple[str, str]]", list(zip(given[::2], given[1::2], strict=True)))
    return [
        {"size": size_text(bytes_of(size, place)), "share": number_of(share, place)} for size, share in pairs
    ]


def _region(bounds: Sequence[str], place: str) -> Value:
    """From one place to another: up to 200 in percent, else in bytes."""
    if len(bounds) != 2:
        raise UsageError(f"{place}: expected two places", "such as range=(0,25)")
    if all(re.fullmatch(r"[\d.]+", bound) and float(bound) <= 200 for bound in bounds):
        low, high = map(float, bounds)
        return {"start": f"{low:g}%", "size": f"{high - low:g}%"}
    low_bytes, high_bytes = (bytes_of(bound, place) for bound in bounds)
    return {"start": size_text(low_bytes), "size": size_text(high_bytes - low_bytes)}
