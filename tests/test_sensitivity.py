"""Sensitivities: effects are those of a known model, a file holds what was found, and twins answer to their physics."""

import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from fathom.catalog import load_device
from fathom.catalog.sensitivity import (
    FigureOfStep,
    Sensitivity,
    load_sensitivity,
    sensitivity_toml,
    shipped_sensitivities,
    write_sensitivity,
)
from fathom.catalog.sensitivity_terminal import print_sensitivity
from fathom.catalog.sensitivity_words import footnotes, movers
from fathom.errors import UsageError
from fathom.method.method import parse_method
from fathom.prediction.misses import digest_of
from fathom.prediction.priors import priors_of
from fathom.serve.catalog_view import entry_view
from fathom.sweep import sensitivity
from fathom.sweep.sensitivity import figures_method, find_sensitivity

NAME = "samsung-pm9a3-7.68tb"
READS = """
schema = "fathom-method/1"
name = "reads"
slice = "1GiB"
precision = "1%"
[[steps]]
name = "one"
label = "4 KiB read, 1 outstanding"
fill = "1x"
afresh = true
settle = { time = "5min", round = "1min" }
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 1 }
until = { time = "20ms" }
[[steps]]
name = "offered"
label = "4 KiB read, 10k a second offered"
fill = "1x"
afresh = true
settle = { time = "5min", round = "1min" }
[steps.job]
mix = "read"
block = "4KiB"
pattern = "uniform"
load = { threads = 1, iodepth = 64, rate = "10k/s" }
until = { time = "20ms" }
"""


@pytest.fixture(scope="module")
def workers() -> Iterator[Executor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture(scope="module")
def found(workers: Executor) -> Sensitivity:
    method = parse_method(READS, "reads.toml")
    return find_sensitivity(load_device(NAME), method, workers, lambda label, done, total: None, 2)


def by_parameter(found: Sensitivity) -> dict[str, tuple[float, ...]]:
    return {one.parameter: one.means for one in found.effects}


def test_a_lone_read_answers_to_the_times_on_its_way_and_to_no_other(found: Sensitivity) -> None:
    effects = by_parameter(found)
    for name in ("read_sense_us", "command_latency_us", "ecc_us"):
        assert effects[name][0] > 0.02, name
    for name in ("program_us", "over_provisioning", "erase_us", "write_ack_us"):
        assert effects[name][0] < 0.005, name


def test_a_closed_loop_has_its_rate_and_an_open_load_its_latency(found: Sensitivity) -> None:
    assert [(one.step, one.metric) for one in found.figures] == [("one", "rate"), ("offered", "latency")]


def test_effects_on_a_product_are_the_widths_of_its_factors(
    monkeypatch: pytest.MonkeyPatch, workers: Executor
) -> None:
    """A figure that is `read_sense_us / program_us` has each parameter's own range as its effect, without spread."""
    device, method = load_device(NAME), parse_method(READS, "reads.toml")
    priors = {one.name: one for one in priors_of(device)}

    figure = FigureOfStep(step="one", label="product", metric="rate")

    def product(name: str, method: object, settings: list[str], *rest: object) -> list[object]:
        values = [dict(one.split("=") for one in text.split(",")) for text in settings]
        return [dict([(figure, float(one["read_sense_us"]) / float(one["program_us"]))]) for one in values]

    monkeypatch.setattr(sensitivity, "_simulated", product)
    effects = find_sensitivity(device, method, workers, lambda label, done, total: None, 4).effects
    wide = 2 * sensitivity.EDGE
    for one in effects:
        of_product = one.parameter in ("read_sense_us", "program_us")
        expected = wide * priors[one.parameter].log_sd if of_product else 0.0
        assert one.means[0] == pytest.approx(expected, rel=0.02, abs=1e-3), one.parameter


def test_what_is_written_is_read_again(
    found: Sensitivity, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOM_CATALOG", str(tmp_path))
    path = write_sensitivity(found)
    assert path.read_text() == sensitivity_toml(found)
    kept = load_sensitivity(NAME)
    assert kept is not None
    assert kept.figures == found.figures
    np.testing.assert_allclose(
        [one.means for one in kept.effects], [one.means for one in found.effects], atol=1e-4
    )


def test_a_table_begins_with_what_moves_a_figure_most(found: Sensitivity) -> None:
    out = StringIO()
    print_sensitivity(Console(file=out, width=80), found)
    lines = out.getvalue().splitlines()
    first = next(line for line in lines if "%" in line)
    assert first.split()[0] == max(found.effects, key=lambda one: max(one.means)).parameter
    assert "A  4 KiB read, 1 outstanding" in lines
    assert "B  4 KiB read, 10k a second offered: mean latency" in lines


def test_parameters_that_move_nothing_are_counted_in_the_number_that_they_have(found: Sensitivity) -> None:
    strong, weak = (
        found.effects[0].model_copy(update={"means": (mean,) * len(found.figures)}) for mean in (0.5, 0.0)
    )
    for effects, said in (((strong, weak), "1 more moves no"), ((strong, weak, weak), "2 more move no")):
        assert footnotes(found.model_copy(update={"effects": effects}))[0] == f"{said} figure by 2 %."


def test_a_page_names_what_moves_a_figure_the_strongest_first(found: Sensitivity) -> None:
    means = {one.parameter: one.means[0] for one in found.effects if one.means[0] >= one.halves[0]}
    named = [text.split() for text in movers(found, 0).split(", ")]
    assert [name for name, *_ in named] == sorted(means, key=lambda name: -means[name])[: len(named)]
    assert named[0][1] == f"{100 * np.expm1(max(means.values())):.0f}"


def test_the_served_page_of_a_drive_has_the_table() -> None:
    sheets = {sheet.title: sheet for sheet in entry_view("devices", NAME).sheets}
    kept = load_sensitivity(NAME)
    assert kept is not None
    assert [row[0].text for row in sheets["What moves its figures"].rows] == [
        one.words for one in kept.figures
    ]


def test_without_the_library_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, workers: Executor
) -> None:
    monkeypatch.setitem(sys.modules, "SALib.sample", None)
    with pytest.raises(UsageError, match="SALib"):
        find_sensitivity(load_device(NAME), figures_method(), workers, lambda label, done, total: None)


def test_only_ssds_have_parameters_that_may_vary(workers: Executor) -> None:
    disk = load_device("wd-ultrastar-dc-hc560-20tb")
    with pytest.raises(UsageError, match="only SSDs"):
        find_sensitivity(disk, figures_method(), workers, lambda label, done, total: None)


@pytest.mark.parametrize("name", shipped_sensitivities())
def test_a_shipped_file_is_about_the_twin_as_it_is(name: str) -> None:
    kept, device = load_sensitivity(name), load_device(name)
    assert kept is not None
    assert kept.digest == digest_of(device), f"`fathom sensitivity {name} --write` makes it anew"
    assert [one.parameter for one in kept.effects] == [prior.name for prior in priors_of(device)]
    assert [one.step for one in kept.figures] == [
        step.name for step in figures_method().steps if step.kind == "measure"
    ]
