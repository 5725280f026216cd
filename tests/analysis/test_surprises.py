"""Surprises: Little's law, physical limits and the data sheet, each only where the figures contradict or come near."""

from dataclasses import dataclass

import pytest
from judged_runs import Measured, Row, run_view, twin, whole_job

from fathom.analysis.finding import Finding
from fathom.analysis.findings import findings
from fathom.analysis.physics import physics_of
from fathom.analysis.settled import unsettled
from fathom.analysis.surprises import Physics, Rated, surprises
from fathom.catalog.load import device_names, load_device
from fathom.statistics.limits import Busy, Limit, LimitKind

A, B = twin("a", "Drive A"), twin("b", "Drive B")
JOB: Row = {
    "mix": {"ops": [{"op": "read"}]},
    "pattern": {"kind": "uniform"},
    "region": {"size": {"fraction": 1.0}},
    "content": {"compressible": 0.0},
}


NONE_KNOWN = Physics()


@dataclass(frozen=True)
class Sheet:
    value: float
    source: str = "data sheet"


def found(
    measured: list[Measured], physics: Physics = NONE_KNOWN, rated: float | None = None, job: Row = JOB
) -> list[Finding]:
    kind = "bandwidth" if measured[0].block_bytes > 4096 else "iops"
    sheet: dict[tuple[str, str | None], Rated] = {(kind, measured[0].op): Sheet(rated)} if rated else {}
    view = run_view(measured, [A, B], job=job)
    return list(surprises(view, lambda _: physics, lambda _: sheet, unsettled(view)))


@pytest.mark.parametrize(
    ("mean_us", "said"), [(2560.0, False), (2650.0, False), (2800.0, True), (1300.0, True)]
)
def test_little_s_law_is_said_to_fail_from_five_percent_on(mean_us: float, said: bool):
    texts = [one.text for one in found([Measured("twin:a", [100_000.0] * 9, point={"mean_us": mean_us})])]
    assert [text.startswith("Little's law does not hold for Drive A in 4k rand read") for text in texts] == [
        True
    ] * said


@pytest.mark.parametrize(("mean_us", "said"), [(1300.0, False), (2800.0, True)])
def test_fewer_in_flight_than_asked_for_are_no_contradiction_where_nobody_counted_them(
    mean_us: float, said: bool
):
    point: Row = {"mean_us": mean_us, "outstanding": None}
    texts = [one.text for one in found([Measured("twin:a", [100_000.0] * 9, point=point)])]
    assert ["280 I/Os in flight, but 256 were asked for" in text for text in texts] == [True] * said


def test_more_than_the_link_carries_cannot_be_and_nearly_as_much_is_said():
    link = Physics(link_mbps=1000.0, link="its PCIe 3.0 x1")
    over, near, far = (
        found([Measured("twin:a", [mbps * 1e6 / 262_144] * 9, block_bytes=262_144)], link)
        for mbps in (1100, 880, 500)
    )
    assert [one.kind for one in over] == ["surprise"]
    assert (
        "1,100 MB/s are 10 % above the raw rate of its PCIe 3.0 x1 (1,000 MB/s), which cannot be"
        in over[0].text
    )
    assert [one.kind for one in near] == ["bound"]
    assert "880 MB/s are 88 % of the raw rate of its PCIe 3.0 x1" in near[0].text
    assert far == []


@pytest.mark.parametrize(("op", "kinds"), [("trim", []), ("write-zeroes", []), ("write", ["surprise"])])
def test_what_is_trimmed_or_zeroed_does_not_pass_over_the_link(op: str, kinds: list[str]):
    fast = Measured("twin:a", [4e5], op=op, block_bytes=1 << 20)
    assert [one.kind for one in found([fast], Physics(link_mbps=7877.0))] == kinds


def test_targets_that_come_nearest_to_the_same_limit_are_told_together():
    rates = [mbps * 1e6 / 262_144 for mbps in (880, 940)]
    measured = [
        Measured(name, [rate] * 9, block_bytes=262_144)
        for name, rate in zip(("twin:a", "twin:b"), rates, strict=True)
    ]
    [near] = found(measured, Physics(link_mbps=1000.0, link="its PCIe 3.0 x1"))
    assert near.text == (
        "Nearest to a physical limit in 4k rand read: Drive A with 88 % of the raw rate of its PCIe 3.0 x1 "
        "(880 of 1,000 MB/s) and Drive B with 94 % (940 of 1,000 MB/s)."
    )


def test_writes_are_held_against_the_dies_with_what_cleaning_adds():
    dies = Physics(program_mbps=4000.0)
    writes = Measured("twin:a", [240_000.0] * 9, op="write", point={"waf": 4.0})
    [near] = found([writes], dies)
    assert "3,932 MB/s to the media, cleaning included, are 98 % of what its dies can program" in near.text
    writes.point["waf"] = 5.0
    assert "which cannot be" in found([writes], dies)[0].text


def test_only_the_best_figure_of_a_kind_is_held_against_the_data_sheet():
    measured = [
        Measured("twin:a", [50_000.0] * 9, step="q1", iodepth=1, threads=1),
        Measured(
            "twin:a",
            [600_000.0] * 9,
            step="q64",
            point={"limit": Limit(LimitKind.SATURATED, Busy("host CPU", 1, 1.0, 1.0)).as_row()},
        ),
    ]
    [off] = found(measured, rated=1e6)
    assert off.text == (
        "Drive A at its best, against its data sheet: q64 600,000 IOPS, 40 % below 1,000,000, limited by host CPU "
        "(data sheet)."
    )
    [agreement] = found(measured, rated=620_000.0)
    assert agreement.text == (
        "One best figure has a rated value. It is within 10 % of the data sheet (\N{MINUS SIGN}3.2 %)."
    )


def test_several_workloads_at_once_are_not_held_against_the_data_sheet():
    assert found([Measured("twin:a", [600_000.0] * 9)], rated=1e6)
    streams = [{"name": name, "job": whole_job(JOB)} for name in "ab"]
    both = {"load": {"kind": "closed", "threads": 16, "iodepth": 32}, "streams": streams}
    assert not found([Measured("twin:a", [600_000.0] * 9)], rated=1e6, job=JOB | both)


def test_a_shortened_run_is_not_held_against_the_data_sheet_without_saying_so():
    measured = [Measured("twin:a", [600_000.0] * 9)]
    view = run_view(measured, [A, B], job=JOB, quick=True)
    [off] = surprises(view, None, lambda _: {("iops", "read"): Sheet(1e6)})
    assert "but this run is shortened, and its drive may be less worn in (data sheet)" in off.text


def test_what_never_became_steady_is_not_held_against_the_data_sheet():
    settled = Measured("twin:a", [600_000.0] * 9, step="settled")
    falling = Measured("twin:a", [2e6] * 9, step="falling", point={"steady": False})
    assert found([falling], rated=1e6) == []
    [off] = found([settled, falling], rated=1e6)
    assert "settled 600,000 IOPS, 40 % below" in off.text


def test_what_is_not_claimed_does_not_agree_with_the_data_sheet_either():
    moment = Measured("twin:a", [620_000.0], point={"window_s": 0.5, "n": 500})
    timed = JOB | {"until": {"time_ns": 500_000_000}}
    found = findings(run_view([moment], [A], job=timed), rated=lambda _: {("iops", "read"): Sheet(620_000.0)})
    assert [one.kind for one in found] == ["unsettled"]


@pytest.mark.parametrize(
    "change",
    [
        {"pattern": {"kind": "zipf", "theta": 0.99}},
        {"region": {"size": {"fraction": 0.25}}},
        {"pattern": {"kind": "sequential"}},
    ],
)
def test_what_a_data_sheet_does_not_mean_is_not_held_against_it(change: Row):
    assert found([Measured("twin:a", [50_000.0] * 9)], rated=1e6, job=JOB | change) == []


def test_a_twin_s_ceilings_are_those_of_its_parameters():
    ceilings = physics_of(twin("samsung-pm9a3-7.68tb", "PM9A3"))
    assert ceilings.link_mbps == pytest.approx(7877, abs=1)
    assert ceilings.link == "its PCIe 4.0 x4"
    assert ceilings.program_mbps == pytest.approx(49 * 2 * 16384 * 3 / 1200)
    assert ceilings.senses_per_s == pytest.approx(128 / 45e-6)


def test_every_virtual_ssd_of_the_catalogue_has_its_ceilings() -> None:
    twins = {name: load_device(name).twin for name in device_names()}
    for name in (name for name, model in twins.items() if model is not None and model.kind == "ssd"):
        known = physics_of(twin(name, name))
        assert known.link_mbps, name
        assert known.program_mbps, name
        assert known.senses_per_s, name
    sata = physics_of(twin("micron-m510dc-480gb", "M510DC"))
    assert (sata.link, sata.link_mbps) == ("its SATA 6 Gb/s", 600)


@pytest.mark.parametrize(
    ("name", "counted"), [("samsung-pm9d3a-7.68tb", False), ("samsung-pm9a3-7.68tb", True)]
)
def test_a_twin_that_was_fitted_to_its_data_sheet_does_not_count_as_near_it(name: str, counted: bool):
    sheet: dict[tuple[str, str | None], Rated] = {("iops", "read"): Sheet(620_000.0)}
    view = run_view([Measured(f"twin:{name}", [600_000.0] * 9)], [twin(name, "Drive A")], job=JOB)
    texts = [one.text for one in surprises(view, lambda _: NONE_KNOWN, lambda _: sheet)]
    assert any("of the data sheet" in text for text in texts) is counted
