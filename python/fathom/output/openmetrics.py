"""Metrics as OpenMetrics text, for Prometheus and its kin: families, labels, values.

Format: OpenMetrics 1.0, "Overall Structure". Prometheus reads it as its own text format 0.0.4 too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

OPENMETRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
END = "# EOF"


@dataclass(frozen=True)
class Sample:
    """A value and its labels. `suffix` is what a histogram adds to its name."""

    labels: Mapping[str, str]
    value: float
    suffix: str = ""


@dataclass(frozen=True)
class Family:
    """A metric, what it means, and its samples."""

    name: str
    meaning: str
    samples: Sequence[Sample]
    kind: Literal["gauge", "histogram"] = "gauge"
    unit: str = ""


def exposition(families: Sequence[Family]) -> str:
    """Returns the families that have samples as text, ended by the end mark."""
    lines = [line for family in families if family.samples for line in _lines(family)]
    return "\n".join([*lines, END]) + "\n"


def _lines(family: Family) -> Iterator[str]:
    yield f"# TYPE {family.name} {family.kind}"
    if family.unit:
        yield f"# UNIT {family.name} {family.unit}"
    yield f"# HELP {family.name} {family.meaning}."
    for sample in family.samples:
        yield f"{family.name}{sample.suffix}{_labels(sample.labels)} {sample.value!r}"


def _labels(labels: Mapping[str, str]) -> str:
    named = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{named}}}" if named else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
