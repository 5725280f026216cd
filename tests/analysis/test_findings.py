"""Findings: every sentence follows from the figures, and nothing is claimed that the intervals do not allow."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from judged_runs import DEVICE, Measured, device, run_view, twin, whole_job

from fathom.analysis.finding import cited
from fathom.analysis.findings import Finding, findings
from fathom.analysis.run_view import RunView
from fathom.statistics.limits import LimitKind

A, B, C = twin("a", "Drive A"), twin("b", "Drive B"), twin("c", "Drive C")


def rates(level: float, spread: float = 0.01, seconds: int = 60, seed: int = 0) -> list[float]:
    return list(level * (1 + spread * np.random.default_rng(seed).standard_normal(seconds)))


def kinds(found: list[Finding]) -> list[str]:
    return [one.kind for one in found]


def test_a_clear_leader_is_named_with_its_ratio_and_interval():
    view = run_view(
        [Measured("twin:a", rates(1_000_000)), Measured("twin:b", rates(1_250_000, seed=1))], [A, B]
    )
    leader = findings(view)[0]
    assert (leader.kind, leader.targets) == ("leader", ("twin:b",))
    assert leader.text.startswith("Drive B leads 4k rand read: 1,2")
    assert "1.25 times Drive A (95 % interval 1.24 to 1.2" in leader.text
    assert leader.interval is not None
    assert leader.interval[0] < 1.25 < leader.interval[1]
    assert set(leader.figures) == {"twin:a", "twin:b"}


def test_no_bound_of_a_rate_is_below_zero():
    view = run_view([Measured("twin:a", [20_000.0, 10.0, 12.0, 11.0, 15_000.0, 13.0])], [A])
    [single] = [one for one in findings(view) if one.kind == "single"]
    assert single.interval is not None
    assert single.interval[0] == 0
    assert "95 % interval 0 to " in single.text


@pytest.mark.parametrize(
    ("spread", "said"),
    [
        (8e-4, "95 % interval ± 0.03 %"),
        (1e-6, "95 % interval less than ± 0.01 %"),
        (1e-2, "95 % interval 135,"),
    ],
)
def test_an_interval_whose_bounds_read_alike_is_told_by_its_half_width(spread: float, said: str):
    assert said in findings(run_view([Measured("twin:a", rates(136_000.0, spread))], [A]))[0].text


def test_two_that_cannot_be_told_apart_are_level_and_the_third_follows():
    view = run_view(
        [
            Measured("twin:a", rates(100_000, 0.05, seed=1)),
            Measured("twin:b", rates(100_300, 0.05, seed=2)),
            Measured("twin:c", rates(60_000, 0.05, seed=3)),
        ],
        [A, B, C],
    )
    level = findings(view)[0]
    assert level.kind == "level"
    assert set(level.targets) == {"twin:a", "twin:b"}
    assert "includes 1" in level.text
    assert "Drive C follows with 59,960." in level.text


def test_what_is_clearly_behind_the_first_does_not_follow_a_slower_one_that_scatters():
    view = run_view(
        [
            Measured("twin:a", rates(100_000, 0.001)),
            Measured("twin:b", rates(90_000, 0.001, seed=1)),
            Measured("twin:c", rates(75_000, 2.0, seed=2)),
        ],
        [A, B, C],
    )
    level = findings(view)[0]
    assert level.text.startswith(
        "No winner in 4k rand read: Drive A and Drive C did 100,000 and 86,920 IOPS; the 95 %"
    )
    assert level.text.endswith(" Drive B is behind Drive A with 90,000.")
    assert level.interval is not None
    assert level.interval[0] < 1 < level.interval[1]


def test_three_seconds_declare_no_winner():
    view = run_view([Measured("twin:a", [100.0] * 3), Measured("twin:b", [900.0] * 3)], [A, B])
    assert findings(view)[0].kind == "no-winner"
    assert findings(view)[0].text == (
        "No winner in 4k rand read: Drive B and Drive A did 900 and 100 IOPS; "
        "too few seconds to separate them."
    )


def test_many_seconds_that_scatter_are_not_called_too_few():
    bursts = ([0.0] * 25 + [5000.0] * 5) * 2
    view = run_view([Measured("twin:a", [1000.0] * 60), Measured("twin:b", bursts)], [A, B])
    assert findings(view)[0].text == (
        "No winner in 4k rand read: Drive A and Drive B did 1,000 and 833.3 IOPS; "
        "their seconds scatter too much to separate them."
    )


def test_a_twin_that_knows_its_rate_after_two_seconds_leads_a_file_whose_seconds_drift():
    drifting = [1665.0, 1393.0, 2027.0, 2719.0, 2633.0]
    known: dict[str, object] = {"iops_low": 7675.0, "iops_high": 7695.0}
    for low, says in (
        (1665.0, "(2.82 to 5.52 by the seconds, which drift)"),
        (0.0, "(at least 2.82 times by the"),
    ):
        view = run_view(
            [Measured("twin:a", [7684.0, 7686.0], point=known), Measured("twin:b", [low, *drifting[1:]])],
            [A, B],
        )
        leader = findings(view)[0]
        assert leader.kind == "leader"
        assert says in leader.text


def test_workloads_without_a_winner_are_counted_apart_from_level_ones():
    def both(step: str, a: list[float], b: list[float]) -> list[Measured]:
        return [Measured("twin:a", a, step=step), Measured("twin:b", b, step=step)]

    view = run_view(
        [
            *both("one", rates(100_000, 0.05, seed=1), rates(100_300, 0.05, seed=2)),
            *both("two", [100.0] * 3, [900.0] * 3),
            *both("three", rates(50_000), rates(90_000)),
        ],
        [A, B],
    )
    assert findings(view)[0].text == "3 workloads: Drive B leads 1, 1 is level and 1 has no winner."


def offered(spread: float, step: str = "read", *, c: float | None = None) -> list[Measured]:
    """Two targets at a rate that was offered, one of them always a little lower; a third that falls behind it."""
    limit: dict[str, object] = {"limit": {"kind": LimitKind.OFFERED_RATE.value, "amount": 20_000.0}}
    both = [
        Measured("twin:a", rates(20_000, spread), point=limit, step=step),
        Measured("twin:b", rates(19_990, spread, seed=1), point=limit, step=step),
    ]
    return [*both, Measured("twin:c", rates(c, spread), step=step)] if c else both


@pytest.mark.parametrize("spread", [0.01, 1e-6])
def test_a_rate_that_was_offered_and_kept_up_with_ranks_nobody(spread: float):
    kept_up, *_ = findings(run_view(offered(spread), [A, B]))
    assert (kept_up.kind, kept_up.targets) == ("kept-up", ("twin:a", "twin:b"))
    assert kept_up.text.startswith("Drive A and Drive B keep up with the rate offered in read, ")
    assert kept_up.text.endswith(" IOPS, so it ranks none of them.")


def test_who_falls_behind_an_offered_rate_follows():
    kept_up, *_ = findings(run_view(offered(0.01, c=12_000), [A, B, C]))
    assert kept_up.text.endswith("so it ranks none of them. Drive C follows with 12,010.")


def test_workloads_whose_offered_rate_is_kept_up_with_are_counted_apart():
    faster = [
        Measured("twin:a", rates(50_000), step="two"),
        Measured("twin:b", rates(90_000), step="two"),
    ]
    [first, *_] = findings(run_view([*offered(0.01, "one"), *faster], [A, B]))
    assert first.text == "2 workloads: Drive B leads 1 and in 1 the best keep up with the rate offered."
    [every, *_] = findings(run_view([*offered(0.01, "one"), *offered(0.01, "two")], [A, B]))
    assert every.text == "2 workloads: the best keep up with the rate offered in all."


def test_unequal_rates_that_were_offered_are_each_named():
    slower = Measured(
        "twin:b", rates(9_990, 1e-6), point={"limit": {"kind": LimitKind.OFFERED_RATE.value}}, step="read"
    )
    kept_up, *_ = findings(run_view([offered(1e-6)[0], slower], [A, B]))
    assert kept_up.text == (
        "Drive A and Drive B keep up with the rates offered in read, 20,000 and 9,990 IOPS, so these rank none of them."
    )


def test_one_target_is_given_its_figure_and_interval():
    found = findings(run_view([Measured("twin:a", rates(50_000), block_bytes=262_144)], [A]))
    assert kinds(found) == ["single"]
    assert "Drive A reaches 13," in found[0].text
    assert "MB/s (or" not in found[0].text
    assert found[0].interval is not None
    assert found[0].interval[0] < 50_000 * 0.262144 < found[0].interval[1]


def test_the_lead_over_all_workloads_is_counted():
    measured = [
        Measured("twin:a", rates(200_000), step="read"),
        Measured("twin:b", rates(100_000, seed=1), step="read"),
        Measured("twin:a", rates(90_000), step="write"),
        Measured("twin:b", rates(50_000, seed=1), step="write"),
        Measured("twin:a", rates(10_000), step="mixed"),
        Measured("twin:b", rates(50_000, seed=1), step="mixed"),
    ]
    overall = findings(run_view(measured, [A, B]))[0]
    assert overall.text == "3 workloads: Drive A leads 2 and Drive B leads 1."


def test_the_halves_of_a_mix_are_ranked_by_their_sum():
    measured = [
        Measured("twin:a", rates(70_000), op="read"),
        Measured("twin:a", rates(30_000), op="write"),
        Measured("twin:b", rates(80_000, seed=1), op="read"),
        Measured("twin:b", rates(5_000, seed=1), op="write"),
    ]
    assert findings(run_view(measured, [A, B]))[0].targets == ("twin:a",)


def test_what_limits_a_target_is_said_once_per_target():
    measured = [
        Measured("twin:a", rates(1000), step="read", point={"limited_by": "PCIe link (read)"}),
        Measured("twin:a", rates(1000), step="write", point={"limited_by": "dies"}),
    ]
    limit = next(one for one in findings(run_view(measured, [A])) if one.kind == "limit")
    assert limit.text == "Drive A is limited by PCIe link (read) in read and by dies in write."


@dataclass(frozen=True)
class Row:
    iops: float | None
    mbps: float | None = None
    role: str | None = "validation"
    source: str | None = "a review"
    statistic: str | None = None
    uncertain: bool = False
    bound: str | None = None
    block_kib: float | None = None
    read_pct: float | None = None
    pattern: str | None = None
    jobs: int | None = None
    threads: int | None = None
    iodepth: int | None = None


@pytest.mark.parametrize(
    ("stated", "is_compared"),
    [
        ({}, True),
        ({"block_kib": 4, "read_pct": 100, "pattern": "rand", "threads": 8, "iodepth": 32}, True),
        ({"jobs": 256}, True),
        ({"pattern": "synthetic-db"}, True),
        ({"block_kib": 8}, False),
        ({"read_pct": 70}, False),
        ({"pattern": "seq"}, False),
        ({"iodepth": 32}, False),
        ({"threads": 1, "iodepth": 1}, False),
        ({"bound": "at-least"}, False),
    ],
)
def test_a_published_figure_stands_beside_the_load_that_its_row_states(
    stated: dict[str, object], is_compared: bool
):
    view = run_view([Measured("twin:a", rates(120_000))], [A])
    row = replace(Row(100_000), **stated)
    assert ("surprise" in {one.kind for one in findings(view, lambda *_: [row])}) is is_compared


def test_a_figure_far_from_the_published_one_is_a_surprise_and_near_ones_are_counted():
    measured = [
        Measured("twin:a", rates(120_000), step="4k-rand-read"),
        Measured("twin:a", rates(51_000), step="4k-rand-write"),
    ]
    published = {("a", "fio-4k-rand-read"): [Row(100_000)], ("a", "fio-4k-rand-write"): [Row(50_000)]}
    found = findings(run_view(measured, [A]), lambda device, workload: published.get((device, workload), []))
    surprise = next(one for one in found if one.kind == "surprise")
    agreement = next(one for one in found if one.kind == "agreement")
    assert "20 % above the published 100,000 (a review)" in surprise.text
    assert surprise.figures["published"] == 100_000
    assert agreement.text == (
        "Over all 2 figures that nothing was fitted to, the median difference is 11.1 %, the largest +20.1 %; "
        "1 is within 10 %."
    )


def test_a_drive_in_two_runs_counts_each_published_figure_once_and_is_no_contest():
    again = A.model_copy(update={"name": "twin:a (2)", "label": "A (2)"})
    measured = [
        Measured(name, rates(iops), step=step)
        for name, factor in ((A.name, 1.02), (again.name, 1.04))
        for step, iops in (("4k-rand-read", 100_000 * factor), ("4k-rand-write", 50_000 * factor))
    ]
    published = {("a", "fio-4k-rand-read"): [Row(100_000)], ("a", "fio-4k-rand-write"): [Row(50_000)]}
    found = findings(
        run_view(measured, [A, again]), lambda device, workload: published.get((device, workload), [])
    )
    agreement = next(one for one in found if one.kind == "agreement")
    assert agreement.text.startswith(
        "Over all 2 figures that nothing was fitted to, the median difference is 3.1 %"
    )
    assert agreement.text.endswith("2 are within 10 %.")
    assert [one for one in found if one.kind == "order"] == []


def test_medians_are_over_all_rows_of_a_role_and_never_mix_fitted_ones_with_predictions():
    rows = {"near": 1.01, "far": 2.36, "fitted": 1.0}
    measured = [Measured("twin:a", rates(100_000 * off), step=step) for step, off in rows.items()]
    roles = {"fio-fitted": "calibration"}
    found = findings(
        run_view(measured, [A]), lambda _, workload: [Row(100_000, role=roles.get(workload, "validation"))]
    )
    agreement = next(one for one in found if one.kind == "agreement")
    assert agreement.text.startswith(
        "Over all 2 figures that nothing was fitted to, the median difference is 68"
    )
    assert "the largest +136" in agreement.text
    assert agreement.figures["validation_n"] == 2
    assert agreement.figures["fitted_n"] == 1


def test_a_published_floor_is_compared_with_the_floor_and_not_with_the_mean():
    seconds = [22_000.0, 22_100.0, 22_050.0, 33_000.0] * 20
    found = findings(
        run_view([Measured("twin:a", seconds)], [A]), lambda *_: [Row(22_000, statistic="floor")]
    )
    agreement = next(one for one in found if one.kind == "agreement")
    assert abs(agreement.figures["validation_worst_pct"]) < 0.5


def with_repeat(first: list[float], second: list[float]) -> RunView:
    """A run and its repeat, as one."""
    mean = (np.mean(first) + np.mean(second)) / 2
    one, other = (run_view([Measured("twin:a", each, point={"iops": mean})], [A]) for each in (first, second))
    return replace(one, further=[other.intervals])


def test_a_published_floor_is_compared_with_the_mean_of_the_floors_of_repeats():
    found = findings(
        with_repeat([20_000.0] * 30, [24_000.0] * 30), lambda *_: [Row(22_000, statistic="floor")]
    )
    agreement = next(one for one in found if one.kind == "agreement")
    assert agreement.figures["validation_worst_pct"] == pytest.approx(0)


def test_seconds_that_are_uneven_in_one_repeat_are_said_whichever_it_is():
    even, uneven = [70_000.0] * 30, [100_000.0, 40_000.0] * 15
    told = [
        one.text
        for pair in ((even, uneven), (uneven, even))
        for one in findings(with_repeat(*pair))
        if one.kind == "consistency"
    ]
    assert len(told) == 2
    assert all("31 % of their mean, the worst second 57 %" in text for text in told)


def test_a_floor_of_nothing_is_compared_as_the_floor_that_it_is():
    seconds = [0.0, 0.0, 20_000.0] * 20
    found = findings(
        run_view([Measured("twin:a", seconds)], [A]), lambda *_: [Row(22_000, statistic="floor")]
    )
    agreement = next(one for one in found if one.kind == "agreement")
    assert agreement.figures["validation_worst_pct"] == -100


def test_a_shortened_run_has_nobody_lead():
    measured = [Measured(name, rates(speed)) for name, speed in (("twin:a", 1000), ("twin:b", 2000))]
    texts = [one.text for one in findings(run_view(measured, [A, B], quick=True))]
    assert any("is ahead in" in text for text in texts)
    assert not any(word in text for text in texts for word in ("leads", "holds", "sustained"))


def test_a_target_that_was_not_steady_is_left_out_of_the_ranking():
    measured = [
        Measured("twin:a", rates(5000), point={"steady": False}),
        Measured("twin:b", rates(2000), point={"steady": True}),
    ]
    first, *_ = findings(run_view(measured, [A, B]))
    assert first.kind == "single"
    assert first.text.startswith("Drive B reaches")
    assert first.text.endswith("Left out: Drive A, not settled (steady state was not reached).")


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (2000, "Drive B leads 1 workload. 1 more claims nothing: "),
        (1000, "1 workload: the best are level. 1 more claims nothing: "),
    ],
)
def test_a_single_workload_of_which_something_is_claimed_is_no_several(second: float, said: str):
    measured = [
        Measured(name, rates(speed), step=step, point={"steady": steady})
        for step, steady in (("4k-rand-read", True), ("4k-rand-write", False))
        for name, speed in (("twin:a", 1000), ("twin:b", second))
    ]
    assert findings(run_view(measured, [A, B]))[0].text.startswith(said)


@pytest.mark.parametrize(
    ("settled", "said"),
    [
        (
            ("a", "b"),
            "Drive B leads all 2 workloads. In 1 more, one target alone has a figure that is claimed.",
        ),
        ((), "No figure of 2 workloads is claimed: no target had settled. In 1 more, one target alone has "),
    ],
)
def test_workloads_in_which_one_target_alone_is_claimed_are_counted_apart(
    settled: tuple[str, ...], said: str
):
    measured = [
        Measured(f"twin:{name}", rates(speed), step=step, point={"steady": name in able})
        for step, able in (("read", settled), ("write", settled), ("mix", ("a",)))
        for name, speed in (("a", 1000), ("b", 2000))
    ]
    assert findings(run_view(measured, [A, B]))[0].text.startswith(said)


def test_why_workloads_claim_nothing_is_said_of_these_alone():
    brief: dict[str, object] = {"window_s": 0.5}
    measured = [
        *(Measured(name, rates(1000), step="read", point={"steady": False}) for name in ("twin:a", "twin:b")),
        *(
            Measured(name, rates(1000), step="write", point={"steady": False})
            for name in ("twin:a", "twin:b")
        ),
        Measured("twin:a", rates(1000), step="mix"),
        Measured(DEVICE, [500.0], step="mix", point=brief),
    ]
    told = findings(run_view(measured, [A, B, device()]))[0].text
    assert told.startswith("No figure of 2 workloads is claimed: no target had settled.")


def test_no_outcome_is_told_where_no_target_had_settled():
    measured = [Measured(name, rates(1000), point={"steady": False}) for name in ("twin:a", "twin:b")]
    found = findings(run_view(measured, [A, B]))
    assert kinds(found)[:1] == ["unsettled"]
    assert found[0].text.startswith("No figure is claimed in ")
    assert not any(word in one.text for one in found for word in ("leads", "level", "reaches"))


def test_a_shortened_run_that_is_far_from_the_published_figure_says_that_it_was_shortened():
    measured = [Measured("twin:a", rates(120_000))]
    found = findings(run_view(measured, [A], quick=True), lambda *_: [Row(100_000, role="calibration")])
    surprise = next(one for one in found if one.kind == "surprise")
    assert (
        "the published 100,000, but this run is shortened, and its drive may be less worn in" in surprise.text
    )


@pytest.mark.parametrize(("role", "said"), [("calibration", True), ("validation", False)])
def test_agreement_with_a_row_that_the_twin_was_fitted_to_is_no_prediction(role: str, said: bool):
    measured = [Measured("twin:a", rates(51_000), step="4k-rand-write")]
    found = findings(run_view(measured, [A]), lambda device, workload: [Row(50_000, role=role)])
    agreement = next(one for one in found if one.kind == "agreement")
    assert ("not that it predicts" in agreement.text) == said


@pytest.mark.parametrize("row", [Row(None), Row(float("nan")), Row(0.0)])
def test_a_published_row_without_the_figure_is_passed_over(row: Row):
    found = findings(run_view([Measured("twin:a", rates(1000))], [A]), lambda device, workload: [row])
    assert kinds(found) == ["single"]


def test_uneven_seconds_are_said_with_the_worst_one():
    uneven = [100_000.0, 40_000.0] * 30
    found = findings(run_view([Measured("twin:a", uneven)], [A]))
    consistency = next(one for one in found if one.kind == "consistency")
    assert "43 % of their mean, the worst second 57 %" in consistency.text


@pytest.mark.parametrize(("offered", "uneven"), [(70_000.0, False), (80_000.0, True)])
def test_seconds_as_uneven_as_their_arrivals_say_nothing_of_the_target(offered: float, uneven: bool):
    seconds = [100_000.0, 40_000.0] * 30
    found = findings(run_view([Measured("twin:a", seconds, point={"offered_iops": offered})], [A]))
    assert ("consistency" in kinds(found)) == uneven


def test_a_target_that_is_uneven_in_several_workloads_is_named_once_with_the_worst():
    series = {"4k-rand-read": [100_000.0, 60_000.0] * 30, "4k-rand-write": [100_000.0, 20_000.0] * 30}
    measured = [Measured("twin:a", rates, step=step) for step, rates in series.items()]
    told = [one for one in findings(run_view(measured, [A])) if one.kind == "consistency"]
    assert [one.step for one in told] == ["4k-rand-write"]
    assert "unevenly in 2 workloads, most in " in told[0].text


def test_a_run_that_measured_nothing_has_no_findings():
    assert findings(run_view([], [A])) == []


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("Samsung page, https://example.com/ssd?id=1", "Samsung page"),
        ("Listing 7, https://example.com/a (quoted elsewhere)", "Listing 7 (quoted elsewhere)"),
        ("StorageReview, 'SN861' (000_298800c845c14a25)", "StorageReview, 'SN861'"),
        ("'Vendors' (https://example.com/a/), quoting the makers", "'Vendors', quoting the makers"),
    ],
)
def test_a_sentence_names_its_source_without_the_address(source: str, named: str):
    assert cited(source) == named


def test_how_often_the_published_leader_is_ahead_is_said_with_the_workloads_where_another_is():
    speeds = {"read": (325, 304, 290), "write": (300, 200, 100), "mix": (90, 80, 85)}
    published = {"read": (325, 329, 289), "write": (200, 150, 131), "mix": (90, 80, 70)}
    measured = [
        Measured(target.name, rates(1000 * speed, seed=place), step=step)
        for step, row in speeds.items()
        for place, (target, speed) in enumerate(zip((A, B, C), row, strict=True))
    ]
    place = {"a": 0, "b": 1, "c": 2}
    found = findings(
        run_view(measured, [A, B, C]),
        lambda device, workload: [Row(1000 * published[workload.removeprefix("fio-")][place[device]])],
    )
    order = next(one for one in found if one.kind == "order")
    assert order.text == (
        "The published leader is ahead in 2 of 3 workloads, and all targets come out in the published order in 1 of "
        "them. Another is ahead in read (published Drive B, here Drive A)."
    )


def test_published_figures_in_doubt_take_no_part_in_an_order():
    measured = [Measured("twin:a", rates(5000)), Measured("twin:b", rates(2000))]
    found = findings(run_view(measured, [A, B]), lambda device, _: [Row(2000, uncertain=device == "a")])
    assert "order" not in kinds(found)


def test_targets_that_had_not_settled_and_lone_published_figures_have_no_order():
    measured = [
        Measured("twin:a", rates(5000), point={"steady": False}),
        Measured("twin:b", rates(2000)),
        Measured("twin:a", rates(5000), step="write"),
    ]
    found = findings(run_view(measured, [A, B]), lambda *_: [Row(2000)])
    assert "order" not in kinds(found)


@pytest.mark.parametrize(
    ("op", "direct", "said"), [("write", False, True), ("write", True, False), ("read", False, False)]
)
def test_a_rate_of_writes_into_the_page_cache_is_said_to_be_in_part_that_of_memory(
    op: str, direct: bool, said: bool
):
    job = {
        "mix": {"ops": [{"op": op}]},
        "region": {"size": {"fraction": 1.0}},
        "content": {},
        "direct": direct,
    }
    found = findings(run_view([Measured("twin:a", rates(1000))], [A], job=job))
    assert found[0].text.endswith("part of the rate may be that of memory.") == said


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ({"max_us": 2e6, "mean_us": 100.0}, "took 2 s"),
        ({"max_us": 2e6, "mean_us": 1e6, "censored": 1}, "had not returned after 2 s, when the window ended"),
        ({"max_us": 9000.0, "mean_us": 100.0, "censored": 1}, None),
        ({"max_us": 2e6, "mean_us": 1e6}, None),
    ],
)
def test_a_stall_is_an_io_that_a_host_waits_for_visibly(point: dict[str, object], said: str | None):
    """A closed load always has I/O in flight at the end, and some of it is older than all that returned."""
    found = findings(run_view([Measured(DEVICE, rates(10_000), point=point)], [device()]))
    stalls = [one.text for one in found if one.kind == "stall"]
    whole = f"The longest stall of Drive is in 4k rand read: a read {said}."
    assert stalls == ([whole] if said else [])


@pytest.mark.parametrize(("direct", "said"), [(False, True), (True, False)])
def test_a_stream_of_writes_into_the_page_cache_is_said_to_be_in_part_that_of_memory(
    direct: bool, said: bool
):
    job = {
        "region": {"size": {"fraction": 1.0}},
        "content": {},
        "direct": True,
        "load": {"kind": "closed", "threads": 16, "iodepth": 32},
        "streams": [
            {"name": "reads", "job": whole_job({"mix": {"ops": [{"op": "read"}]}, "direct": True})},
            {"name": "log", "job": whole_job({"mix": {"ops": [{"op": "write"}]}, "direct": direct})},
        ],
    }
    found = findings(run_view([Measured("twin:a", rates(1000))], [A], job=job))
    assert found[0].text.endswith("part of the rate may be that of memory.") == said
