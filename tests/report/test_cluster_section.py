"""The section of a cluster: from which depth on it gives its maximum, and of what nothing is claimed."""

from collections.abc import Mapping
from pathlib import Path

import pytest

import fathom
from fathom.report.blocks import Section
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import cluster

HEAD = """
schema = "fathom-method/1"
name = "clients"
key_figure = "cluster"
"""
STEP = """
[[steps]]
name = "4k-rand-read-q{depth}"
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = {{ iodepth = {depth}, rate = "{rate}/s", arrival = "deterministic" }}
until = {{ time = "{time}" }}
"""


def section(folder: Path, rates: Mapping[int, int], time: str) -> Section:
    """A disk that is offered these rates by depth."""
    method = folder / "clients.toml"
    steps = [STEP.format(depth=depth, rate=rate, time=time) for depth, rate in rates.items()]
    method.write_text(HEAD + "".join(steps))
    built = cluster.build(compare([load(fathom.run(str(method), "twin:toshiba-mg11-24tb", out=folder).path)]))
    assert built is not None
    assert built.key_figure is not None
    return built


@pytest.mark.parametrize(
    ("rates", "where"),
    [
        ({1: 20, 4: 60, 8: 60}, "from depth 4 on"),
        ({1: 20, 4: 60, 8: 40}, "at depth 4"),
        ({1: 20, 4: 40, 8: 60}, "at depth 8"),
    ],
)
def test_a_maximum_is_kept_from_a_depth_on_where_greater_depths_were_measured_and_keep_it(
    tmp_path: Path, rates: Mapping[int, int], where: str
) -> None:
    built = section(tmp_path, rates, "5s")
    assert built.key_figure is not None
    assert built.key_figure.sentence.endswith(f"IOPS of 4 KiB random read, {where}.")


def test_nothing_is_claimed_of_a_cluster_that_was_measured_for_a_moment(tmp_path: Path) -> None:
    built = section(tmp_path, {1: 20, 4: 60}, "0.5s")
    assert built.key_figure is not None
    assert built.key_figure.sentence == "Every target was measured too briefly, so no rate is claimed."
    assert built.key_figure.reasons == []
    assert built.answer == []
