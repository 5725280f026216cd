"""A recommendation replays a trace on twins, ranks them, and says how much the load may grow."""

import html
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from math import ceil, log
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from test_convert import fathom

from fathom.catalog import load_device
from fathom.errors import UsageError
from fathom.load.workers import Workers, local_workers
from fathom.prediction.interval import spread_of
from fathom.recommend import ranking
from fathom.recommend.objective import parse_objective
from fathom.recommend.page import render
from fathom.recommend.portion import at_speed, portion
from fathom.recommend.ranking import Recommendation, devices_of, recommend
from fathom.recommend.reading import read
from fathom.recommend.terminal import cells, recommendation_json
from fathom.recommend.words import basis, chance_text, grounds, growth_text, headline, reasons, years_text
from fathom.sizing.files import Prices, read_prices
from fathom.statistics.limits import Busy, Limit, LimitKind
from fathom.traces.opening import open_trace
from fathom.traces.prepare import HEADER_BYTES, ROW, prepare

FAST, SLOW = "samsung-pm9a3-7.68tb", "wd-ultrastar-dc-hc560-20tb"
ZONED = "wd-ultrastar-dc-zn540-1tb"
IOS, RATE = 4000, 2000
PRICES = """
schema = "fathom-prices/1"
currency = "EUR"
[items."samsung-pm9a3-7.68tb"]
price = 900
source = "a quote"
[items."wd-ultrastar-dc-hc560-20tb"]
price = 300
source = "a quote"
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with local_workers(1) as pool:
        yield pool


def trace(folder: Path, reach_bytes: int = 1 << 30) -> Path:
    """Random 4 KiB reads and writes, half each, at 2,000 a second for 2 s."""
    drawn = np.random.default_rng(1)
    times = np.cumsum(drawn.exponential(1e6 / RATE, IOS)).astype(int)
    offsets = drawn.integers(0, reach_bytes // 4096, IOS) * 4096
    rows = "".join(
        f"{t},{'RW'[n % 2]},{o},4096\n" for n, (t, o) in enumerate(zip(times, offsets, strict=True))
    )
    path = folder / "app.csv"
    path.write_text(f"time_us,op,offset,size\n{rows}")
    return path


def found(
    path: Path, workers: Workers, devices: list[str], *slo: str, prices: Prices | None = None
) -> Recommendation:
    prepared = prepare(open_trace(path))
    objectives = [parse_objective(text) for text in slo]
    return recommend(
        prepared,
        portion(prepared, ranking.MOST_IOS),
        devices,
        objectives,
        prices or read_prices(None),
        workers,
    )


def test_a_drive_that_keeps_up_stands_before_one_that_does_not(tmp_path: Path, workers: Workers):
    judged = found(trace(tmp_path), workers, [SLOW, FAST, ZONED], "p99 read < 500us")
    assert [one.device for one in judged.candidates] == [FAST, SLOW, ZONED]
    best, slow, refused = judged.candidates
    assert judged.best is best
    assert not slow.meets
    assert slow.headroom is not None
    assert 0 < slow.headroom < 1
    assert refused.judged is None
    assert "zone" in refused.refused
    label, zoned = (load_device(name).identity.label for name in (FAST, ZONED))
    assert headline(judged).startswith(
        f"{label} is the only one of 3 that is known to keep up with p99 read < 500us"
    )
    assert any(zoned in text for text in reasons(judged))
    assert basis(judged)[0] == f"The twin of {label} is `twin:{FAST}`."


def test_a_drive_whose_zones_refuse_the_writes_of_a_trace_gets_no_advice_about_patterns_of_jobs(
    tmp_path: Path, workers: Workers
):
    zoned = ["wd-ultrastar-dc-hc650-20tb", ZONED]
    judged = found(trace(tmp_path), workers, zoned)
    for one in judged.candidates:
        assert "write pointers" in one.refused
        assert "take a drive without such zones" in one.refused
        assert "pattern" not in one.refused
    assert headline(judged) == (
        "Whether any of these 2 drives keeps up is not known: its twin does not take the trace"
    )
    first = replace(judged, candidates=judged.candidates[:1])
    assert headline(first) == (
        f"Whether {first.candidates[0].label} keeps up is not known: its twin does not take the trace"
    )
    path = tmp_path / "reads.csv"
    path.write_text(
        "time_us,op,offset,size\n" + "".join(f"{n * 500},R,{n * 65536},4096\n" for n in range(400))
    )
    assert all(one.judged for one in found(path, workers, zoned).candidates)


def test_the_headroom_is_the_largest_load_that_keeps_the_objective(tmp_path: Path, workers: Workers):
    path = trace(tmp_path)
    best = found(path, workers, [FAST], "mean read < 100us").candidates[0]
    assert best.judged is not None
    [mean_us] = best.judged.values_us
    assert mean_us is not None
    assert best.headroom is not None
    assert mean_us < 100
    # Replayed at twice the headroom, the drive misses it; at half of it, it does not.
    for factor, meets in ((0.5, True), (2.0, False)):
        times = (int(line.split(",")[0]) for line in path.read_text().splitlines()[1:])
        rest = (line.split(",", 1)[1] for line in path.read_text().splitlines()[1:])
        faster = tmp_path / f"{factor}.csv"
        rows = zip(times, rest, strict=True)
        faster.write_text(
            "time_ns,op,offset,size\n"
            + "".join(f"{round(1000 * t / (factor * best.headroom))},{more}\n" for t, more in rows)
        )
        assert found(faster, workers, [FAST], "mean read < 100us").candidates[0].meets == meets


def test_among_those_that_meet_the_objective_the_cheapest_is_recommended(tmp_path: Path, workers: Workers):
    listed = tmp_path / "prices.toml"
    listed.write_text(PRICES)
    slower = trace(tmp_path)
    text = slower.read_text().splitlines()
    slower.write_text("\n".join([text[0].replace("_us", "_ms"), *text[1:400]]) + "\n")
    judged = found(slower, workers, [FAST, SLOW], "mean read < 50ms", prices=read_prices(listed))
    assert [(one.device, one.meets) for one in judged.candidates] == [(SLOW, True), (FAST, True)]
    assert headline(judged).endswith("keeps up with mean read < 50ms at the least cost")
    assert grounds(judged)[0] == "2 of 2 drives keep up"
    dear, cheap = judged.candidates[1], judged.candidates[0]
    alone = replace(judged, candidates=[cheap, replace(dear, cost=None)])
    assert headline(alone).endswith("keeps up with mean read < 50ms and alone has a price")


def test_years_are_the_rated_endurance_over_what_the_trace_writes(tmp_path: Path, workers: Workers):
    best = found(trace(tmp_path), workers, [FAST]).candidates[0]
    a_year = RATE / 2 * 4096 * 365 * 86400
    rated = 7.68e12 * 5 * 365
    assert best.years == pytest.approx(rated / a_year, rel=0.05)
    assert [years_text(replace(best, years=years)) for years in (0.0123, 3.456, 99.6, 101)] == [
        "0.012",
        "3.5",
        "100",
        "> 100",
    ]


def test_a_trace_has_a_waf_once_it_writes_what_it_reaches_and_many_write_buffers(
    tmp_path: Path, workers: Workers
):
    lines = trace(tmp_path, reach_bytes=4 << 20).read_text().splitlines()
    few = tmp_path / "few.csv"
    few.write_text("\n".join(lines))
    of_few = found(few, workers, [FAST]).candidates[0]
    large = tmp_path / "large.csv"
    rows = (line.split(",") for line in lines[1:])
    large.write_text("\n".join([lines[0], *(f"{t},{op},{int(o) * 256},{1 << 20}" for t, op, o, _ in rows)]))
    of_large = found(large, workers, [FAST]).candidates[0]
    assert of_few.judged is not None
    assert of_few.judged.waf is None, "8 MB do not fill the write buffer"
    assert of_large.judged is not None
    assert of_large.judged.waf is not None, "2 GB over 1 GiB"
    assert 0.9 < of_large.judged.waf < 10


def test_a_trace_that_reaches_beyond_a_drive_is_wrapped_and_the_drive_is_no_answer(
    tmp_path: Path, workers: Workers
):
    judged = found(trace(tmp_path, 9 << 40), workers, [FAST])
    assert judged.best is None
    assert judged.candidates[0].judged is not None
    assert not judged.candidates[0].judged.fits
    assert any("offsets wrapped at" in text for text in reasons(judged))


def test_drives_that_are_too_small_are_said_to_be_that_and_by_how_much(tmp_path: Path, workers: Workers):
    path = trace(tmp_path)
    text = path.read_text().splitlines()
    path.write_text("\n".join([*text[:400], "999999,R,9000000000000,4096"]) + "\n")
    judged = found(path, workers, [FAST, "wd-ultrastar-dc-sn861-7.68tb"])
    assert headline(judged) == (
        "None of these 2 drives is large enough: the trace reaches 9 TB, 1.32 TB more than the largest has"
    )
    label = load_device(FAST).identity.label
    assert f"{label}: too small by 1.32 TB, so its headroom is not known" in reasons(judged)
    one = replace(judged, candidates=[found for found in judged.candidates if found.device == FAST])
    assert headline(one) == f"{label} is too small: the trace reaches 9 TB, 1.32 TB more than it has"


def test_a_drive_that_is_too_small_has_no_headroom_anywhere(tmp_path: Path, workers: Workers):
    path = trace(tmp_path)
    path.write_text("\n".join([*path.read_text().splitlines()[:400], "999999,R,9000000000000,4096"]) + "\n")
    judged = found(path, workers, [FAST, SLOW])
    large, small = judged.candidates
    assert (large.device, small.device) == (SLOW, FAST)
    assert small.headroom is None
    assert (small.bounds, small.chance) == (None, None)
    assert cells(small, judged)[:2] == ["too small", "–"]
    document = json.loads(json.dumps(recommendation_json(judged)))
    written = {one["device"]: one for one in document["candidates"]}
    assert written[FAST]["headroom"] is None
    assert written[FAST]["replay"]["headroom"] is None
    assert written[SLOW]["headroom"] == large.headroom
    key = html.unescape(render(judged)).split('id="drives"')[0]
    assert load_device(SLOW).identity.label in key
    alone = html.unescape(render(replace(judged, candidates=[small])))
    assert "so its headroom is not known" in alone
    assert 'id="drives"' not in alone


def test_a_drive_that_is_too_small_is_named_beside_one_that_is_too_slow(tmp_path: Path, workers: Workers):
    path = trace(tmp_path)
    text = path.read_text().splitlines()
    path.write_text("\n".join([*text[:400], "999999,R,9000000000000,4096"]) + "\n")
    judged = found(path, workers, [FAST, SLOW], "p99 read < 1us")
    assert headline(judged) == ("None of these 2 drives keeps up with p99 read < 1us; 1 of them is too small")
    slow = replace(judged, candidates=[one for one in judged.candidates if one.device == SLOW])
    assert headline(slow) == f"{load_device(SLOW).identity.label} does not keep up with p99 read < 1us"


def test_a_long_trace_is_replayed_in_part_and_that_is_stated(tmp_path: Path):
    prepared = prepare(open_trace(trace(tmp_path)))
    part = portion(prepared, 1000)
    assert (part.ios, part.whole) == (1000, False)
    assert part.rate_iops == pytest.approx(RATE, rel=0.1)
    with at_speed(part, 4.0) as faster:
        assert faster.rate_iops == pytest.approx(4 * part.rate_iops)
        assert faster.path.stat().st_size == 32 + 24 * 1000
    assert not faster.path.exists()


def test_the_headroom_has_the_range_that_other_drives_of_the_family_give_it(tmp_path: Path, workers: Workers):
    known = found(trace(tmp_path), workers, [FAST], "p99 read < 150us")
    best = known.candidates[0]
    spread = spread_of(load_device(FAST), 4096)
    assert spread is not None
    assert best.headroom is not None
    assert best.bounds == pytest.approx((best.headroom / spread.factor, best.headroom * spread.factor))
    reached = sum(miss <= log(best.headroom) for miss in spread.misses)
    assert best.chance == pytest.approx(reached / (spread.rows + 1))
    assert f"on 80 % of real drives; {chance_text(best)} of them keep up" in grounds(known)[-1]
    assert "real drives keep up" in render(known)


def test_a_drive_whose_twin_just_keeps_up_is_not_sure_to(tmp_path: Path, workers: Workers):
    best = found(trace(tmp_path), workers, [FAST]).candidates[0]
    assert best.judged is not None
    just = replace(best, judged=replace(best.judged, headroom=1.0))
    assert just.chance is not None
    assert 0.2 < just.chance < 0.8
    bound = replace(best, judged=replace(best.judged, headroom=64.0, beyond=True))
    assert bound.bounds is None
    assert "% of real drives keep up" in growth_text(bound)


def test_a_disk_has_no_range_because_too_few_figures_of_disks_are_published(tmp_path: Path, workers: Workers):
    disk = found(trace(tmp_path), workers, [SLOW]).candidates[0]
    assert (disk.spread, disk.bounds, disk.chance) == (None, None, None)
    assert "is not known" in growth_text(disk)


def test_a_drive_whose_published_rates_refute_its_range_is_not_said_to_be_unknown(
    tmp_path: Path, workers: Workers
):
    best = found(trace(tmp_path), workers, ["kioxia-cm9-r-15.36tb"]).candidates[0]
    assert best.meets
    assert growth_text(best).endswith("hold 1 of 4 of its published rates, fewer than chance explains")


def test_a_percentile_is_judged_by_enough_ios_however_short_the_trace(tmp_path: Path, workers: Workers):
    path = trace(tmp_path)
    path.write_text("\n".join(path.read_text().splitlines()[:101]) + "\n")
    for limit, meets in (("10ms", True), ("10us", False)):
        one = found(path, workers, [FAST], f"p99 read < {limit}").candidates[0]
        assert one.judged is not None
        assert one.judged.values_us[0] is not None
        assert one.meets == meets


def test_an_operation_that_the_load_lacks_limits_nothing(tmp_path: Path, workers: Workers):
    judged = found(trace(tmp_path), workers, [FAST], "p99 flush < 1us")
    assert judged.candidates[0].meets
    assert headline(judged) == f"{load_device(FAST).identity.label} keeps up"
    assert "What was replayed has no flushes, so p99 flush < 1us limits nothing." in basis(judged)
    assert not any("misses the objective" in text for text in basis(judged))
    assert "the objective is missed" not in render(judged)


def test_the_longest_latency_counts_from_the_arrival_of_an_io():
    waited = SimpleNamespace(
        op="read", n=3, max_us=90.0, response_bins=[(80_000, 90_000, 2), (400_000, 404_000, 1)]
    )
    [found] = [parse_objective("max read < 100us").value(cast("Any", SimpleNamespace(ops=[waited])))]
    assert found == 404.0
    closed = SimpleNamespace(op="read", n=3, max_us=90.0, response_bins=[])
    assert parse_objective("max read < 100us").value(cast("Any", SimpleNamespace(ops=[closed]))) == 90.0


@pytest.mark.parametrize(
    "text", ["p99 read < 500us", "p99 read <= 0.5ms", "mean write < 2 ms", "p99.99 flush < 1s"]
)
def test_objectives_are_read(text: str):
    assert parse_objective(text).limit_us in (500, 2000, 1e6)


@pytest.mark.parametrize("text", ["p98 read < 1ms", "p99 read", "p99 read < 500", "p99 read < 0us", "fast"])
def test_what_is_no_objective_is_refused_with_the_form(text: str):
    with pytest.raises(UsageError, match="--slo"):
        parse_objective(text)


def test_every_drive_of_the_catalogue_with_a_twin_is_compared_by_itself():
    devices = devices_of([])
    assert {FAST, SLOW} <= set(devices)
    assert "weka-6x-micron-7450-pro" not in devices
    assert devices_of([f"twin:{FAST}"]) == [FAST]


def test_the_command_prints_a_table_a_page_and_a_document(tmp_path: Path):
    path = trace(tmp_path)
    options = ["--slo", "p99 read < 500us", "--out", "page.html", "--json"]
    done = fathom("recommend", str(path), f"twin:{FAST}", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["schema"], document["recommended"]) == ("fathom-recommend/1", FAST)
    assert document["candidates"][0]["replay"]["values_us"][0] < 500
    page = (tmp_path / "page.html").read_text()
    assert "keeps up with p99 read" in page
    assert re.search(r'"label":\s*\{"show":\s*true,\s*"formatter":\s*"[^"]*64"', page)
    done = fathom("recommend", str(path), f"twin:{FAST}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert b"keeps up The load may grow" in b" ".join(done.stdout.split())
    assert b"cost (relative)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["app.csv", "null:"], "replays on single twins"),
        (["app.csv", "twin:samsung-pm9a3-7.68tb*4"], "replays on single twins"),
        (["app.csv", "twin:no-such"], "no-such"),
        (["app.csv", "--slo", "soon"], "--slo 'soon'"),
        (["still.csv"], "has no times"),
        (["one.csv"], "has one I/O, so nothing is known of its rate; record a longer trace"),
    ],
)
def test_a_wrong_choice_is_one_line_here_too(arguments: list[str], message: str, tmp_path: Path):
    trace(tmp_path)
    (tmp_path / "still.csv").write_text("time_us,op,offset,size\n0,R,0,4096\n0,R,4096,4096\n")
    (tmp_path / "one.csv").write_text("time_us,op,offset,size\n0,R,0,4096\n")
    done = fathom("recommend", *arguments, cwd=tmp_path)
    assert done.returncode == 2
    [line] = done.stderr.decode().splitlines()
    assert message in line


def test_bursts_that_a_disk_serves_in_time_are_kept_up_with_however_short_the_trace(
    tmp_path: Path, workers: Workers
):
    drawn = np.random.default_rng(3)
    factors = []
    for seconds in (1, 10):
        times = [100_000 * burst + 10 * n for burst in range(10 * seconds) for n in range(8)]
        offsets = drawn.integers(0, 1 << 20, len(times)) * 4096
        path = tmp_path / f"{seconds}.csv"
        lines = (f"{at},R,{offset},4096\n" for at, offset in zip(times, offsets, strict=True))
        path.write_text("time_us,op,offset,size\n" + "".join(lines))
        judged = found(path, workers, ["toshiba-mg10-20tb"]).candidates[0].judged
        assert judged is not None
        assert judged.meets
        factors.append(judged.headroom)
    assert factors[0] == pytest.approx(factors[1], rel=0.25)


def test_without_an_objective_a_late_drive_falls_behind(tmp_path: Path, workers: Workers):
    judged = found(trace(tmp_path), workers, [FAST])
    [one] = judged.candidates
    assert one.judged is not None
    late = replace(one.judged, headroom=2.0, beyond=False, limit=Limit(LimitKind.OFFERED_RATE))
    judged = replace(judged, candidates=[replace(one, judged=late)])
    assert "beyond that it falls behind with nothing saturated" in reasons(judged)[0]
    assert "below 1 the drive falls behind" in render(judged)


def test_a_missed_objective_with_nothing_saturated_is_not_blamed_on_the_offered_rate(
    tmp_path: Path, workers: Workers
) -> None:
    judged = found(trace(tmp_path), workers, [FAST], "mean read < 65us")
    sentence = reasons(judged)[0]
    assert "beyond that an objective is missed with nothing saturated" in sentence
    assert "offered rate" not in sentence


@pytest.mark.parametrize(
    ("objective", "recommends"), [("mean read < 10us", False), ("mean read < 10ms", True)]
)
def test_a_page_calls_a_drive_recommended_only_where_one_keeps_up(
    objective: str, recommends: bool, tmp_path: Path, workers: Workers
) -> None:
    page = render(found(trace(tmp_path), workers, [FAST], objective))
    assert ("The recommended drive is on top" in page) is recommends
    assert ("Bars begin at 1" in page) is not recommends


FAST_TOO = "kioxia-cm7-r-7.68tb"


def limited(judged: Recommendation, *, host: bool = False, **change: object) -> Recommendation:
    """Returns the recommendation with the same headroom for every drive, ended by the host or a part of the drive."""
    limit = Limit(LimitKind.SATURATED, Busy(ranking.HOST if host else "controller", 1, 1.0, 1.0))
    candidates = [
        replace(one, judged=replace(one.judged, limit=limit, **change))
        for one in judged.candidates
        if one.judged
    ]
    return replace(judged, candidates=candidates)


@pytest.mark.parametrize(
    ("headroom", "beyond", "said"),
    [
        (64.0, True, "keeps up with more headroom than was tried, as 1 other does"),
        (4.0, False, "keeps up with the most headroom, as 1 other does"),
    ],
)
def test_no_drive_is_said_to_have_the_most_headroom_alone_where_another_may_have_as_much(
    headroom: float, beyond: bool, said: str, tmp_path: Path, workers: Workers
) -> None:
    judged = found(trace(tmp_path), workers, [FAST, FAST_TOO])
    assert headline(limited(judged, headroom=headroom, beyond=beyond)).endswith(said)


def test_a_drive_that_the_one_thread_of_the_replay_could_not_load_is_not_called_too_slow(
    tmp_path: Path, workers: Workers
) -> None:
    judged = found(trace(tmp_path), workers, [FAST, FAST_TOO])
    slow = limited(judged, host=True, meets=False, headroom=0.5, beyond=False)
    assert headline(slow) == (
        "Whether any of these 2 drives keeps up is not known: the one thread of the replay falls behind"
    )
    assert [chance_text(one) for one in slow.candidates] == ["–", "–"]
    late = limited(judged, meets=False, headroom=0.5, beyond=False).candidates[0]
    assert headline(replace(slow, candidates=[late, slow.candidates[1]])) == (
        "None of these 2 drives is known to keep up; 1 has more than the replay's one thread can ask"
    )
    able = limited(judged, host=True, headroom=4.0, beyond=False).candidates[0]
    assert able.bounds is None
    assert "4 times, where the one thread of the replay is the limit and not the drive" in growth_text(able)


def test_no_real_drive_is_excluded_for_certain(tmp_path: Path, workers: Workers) -> None:
    judged = found(trace(tmp_path), workers, [FAST])
    one = limited(judged, meets=False, headroom=0.1, beyond=False).candidates[0]
    assert one.spread
    assert chance_text(one) == f"< {ceil(100 / (one.spread.rows + 1))} %"


def test_the_range_of_headrooms_names_the_drive_that_it_is_about(tmp_path: Path, workers: Workers) -> None:
    said = basis(found(trace(tmp_path), workers, [SLOW, FAST]))
    label = load_device(FAST).identity.label
    assert any(
        one.startswith(f"{label}, blocks up to 8 KiB: 80 % of measured rates lie within") for one in said
    )


def test_a_price_of_any_size_has_no_exponent(tmp_path: Path, workers: Workers) -> None:
    judged = found(trace(tmp_path), workers, [FAST])
    dear = replace(judged.candidates[0], cost=123_456.0)
    assert cells(dear, judged)[-1] == "123,500"


def test_a_page_says_each_ground_once(tmp_path: Path, workers: Workers) -> None:
    one = found(trace(tmp_path), workers, [FAST], "p99 read < 500us")
    page = render(one)
    words = " ".join(re.sub(r"<[^>]*>", " ", html.unescape(page)).replace("\u00a0", " ").split())
    said = [" ".join(text.rstrip(".").split()) for text in grounds(one)]
    assert [words.count(text) for text in said] == [1] * len(said), said


def timed(folder: Path, unit: str) -> Path:
    """The same load, with its microseconds divided by a million and called by another unit."""
    path = trace(folder)
    head, *lines = path.read_text().splitlines()
    digits = 0 if unit == "s" else 6
    split = (line.split(",", 1) for line in lines)
    rows = "".join(
        f"{int(t) / 1e6 if digits else int(t) // 1_000_000:.{digits}f},{rest}\n" for t, rest in split
    )
    path.write_text(f"{head.replace('_us', f'_{unit}')}\n{rows}")
    return path


def test_a_trace_of_a_coarse_clock_is_ranked_by_rate_and_has_no_latency(tmp_path: Path, workers: Workers):
    path = timed(tmp_path, "s")
    reading = read(lambda: open_trace(path), None, [], ranking.MOST_IOS)
    judged = recommend(reading.prepared, reading.portion, [FAST], [], read_prices(None), workers)
    best = judged.best
    assert best is not None
    assert best.judged is not None
    assert not best.judged.means_us
    assert not best.judged.p99_us
    assert "latency" not in " ".join(reasons(judged))
    assert "Latency counts" not in render(judged)
    assert any("spread at random over each 1 s of the trace's clock" in text for text in basis(judged))
    assert any("multiples of 1 s" in text for text in reading.complaints)


def test_ios_of_a_coarse_clock_are_replayed_spread_over_its_step(tmp_path: Path):
    path = timed(tmp_path, "s")
    reading = read(lambda: open_trace(path), None, [], ranking.MOST_IOS)
    with at_speed(reading.portion, 1.0) as one:
        rows = np.fromfile(one.path, ROW, offset=HEADER_BYTES)
    assert reading.portion.step_ns == 1_000_000_000
    assert np.diff(rows["arrival_ns"].astype(np.int64)).max() < 50_000_000


@pytest.mark.parametrize(
    ("name", "unit", "slo", "message"),
    [
        (
            "app.csv",
            "s",
            ["--slo", "p99 read < 500us"],
            "app.csv shows no latency: its times are multiples of 1 s",
        ),
        ("-", "s", [], "such a trace is read several times"),
        ("app.csv", "us", [], "its times may have another unit"),
    ],
)
def test_doubtful_times_are_refused_where_a_claim_or_a_second_reading_would_need_them(
    name: str, unit: str, slo: list[str], message: str, tmp_path: Path
):
    text = timed(tmp_path, unit).read_bytes()
    done = fathom("recommend", name, f"twin:{FAST}", *slo, cwd=tmp_path, given=text)
    assert done.returncode == 2
    [line] = done.stderr.decode().splitlines()
    assert message in line
