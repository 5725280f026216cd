"""Choosing between systems: against the relations and per-TB figures that the clusters' source prints."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fathom.catalog import load_device
from fathom.cli import app
from fathom.errors import UsageError
from fathom.prediction.interval import spread_of
from fathom.sizing.choose import Choice, choose
from fathom.sizing.drive import Drive, Figure
from fathom.sizing.files import Needs, read_needs, read_prices
from fathom.sizing.reasons import headline, reasons
from fathom.sizing.system import StorageSystem, rated_system

CAPACITY = "weka-cluster-high-capacity-6500-ion"
MAINSTREAM = "weka-cluster-mainstream-7450-pro"
PERFORMANCE = "weka-cluster-performance-9400-pro"
CLUSTERS = (CAPACITY, MAINSTREAM, PERFORMANCE)
ARRAY = "atto-xstreamcore-9400"
LABELS = {
    CAPACITY: "WEKA 6-node High Capacity",
    MAINSTREAM: "WEKA 6-node Mainstream",
    PERFORMANCE: "WEKA 6-node Performance",
}


def test_a_twins_name_is_answered_with_that_of_its_published_results() -> None:
    with pytest.raises(UsageError, match=f"write {MAINSTREAM}"):
        rated_system("weka-6x-micron-7450-pro", read_prices(None))


def test_a_count_of_many_systems_has_separators_in_the_headline() -> None:
    assert re.match(
        r"1\d,\d{3},\d{3} x WEKA", headline(chosen("9999999999 TB", among=(CAPACITY, MAINSTREAM)))
    )


def systems(*names: str) -> list[StorageSystem]:
    prices = read_prices(None)
    return [rated_system(name, prices) for name in names]


def chosen(*needs: str, among: tuple[str, ...] = CLUSTERS, keys: dict[str, object] | None = None) -> Choice:
    stated = Needs.model_validate({"schema": "fathom-needs/1", "needs": needs, **(keys or {})})
    return choose(stated, systems(*among), read_prices(None))


def recommended(choice: Choice) -> tuple[int, str] | None:
    return (choice.best.count, choice.best.system.name) if choice.best else None


def test_the_shipped_prices_keep_every_relation_that_the_source_prints() -> None:
    capacity, mainstream, performance = (system.bill for system in systems(*CLUSTERS))
    assert capacity
    assert mainstream
    assert performance
    assert mainstream.total < capacity.total < performance.total
    assert capacity.costs["servers"] == mainstream.costs["servers"] < performance.costs["servers"]
    assert performance.costs["network"] == 2 * mainstream.costs["network"] == 2 * capacity.costs["network"]
    assert capacity.costs["storage"] > max(mainstream.costs["storage"], performance.costs["storage"])
    extra = {group: performance.costs[group] - mainstream.costs[group] for group in performance.costs}
    assert extra["servers"] > sum(extra.values()) / 2
    assert "not quotes" in (read_prices(None).note or "")


@pytest.mark.parametrize(
    ("name", "iops_per_tb"), [(CAPACITY, 3526), (MAINSTREAM, 11068), (PERFORMANCE, 14323)]
)
def test_read_iops_per_raw_tb_are_those_printed(name: str, iops_per_tb: int) -> None:
    (system,) = systems(name)
    assert system.raw_bytes
    assert round((system.figure("iops", "read") or 0) / system.raw_bytes * 1e12) == iops_per_tb


@pytest.mark.parametrize(
    ("needs", "keys", "answer"),
    [
        (["900 TB", "100 GB/s read"], {}, (1, CAPACITY)),
        (["250 TB", "100 GB/s read", "1M IOPS 70/30"], {}, (1, MAINSTREAM)),
        (["80 GB/s write", "3M IOPS 30/70"], {}, (1, PERFORMANCE)),
        (["100 TB"], {"prefer": "most IOPS 70/30"}, (1, PERFORMANCE)),
        (["100 TB"], {"prefer": "most IOPS 70/30", "budget": 1000}, (1, MAINSTREAM)),
        (["100 TB"], {"prefer": "most capacity"}, (1, CAPACITY)),
        (["100 TB"], {"prefer": "least power"}, (1, CAPACITY)),
        (["300 TB", "100 GB/s read"], {"derate": 0.9}, (1, CAPACITY)),
        (["100 TB"], {"budget": 100}, None),
        (["100 PB", "10 kW"], {}, None),
    ],
)
def test_needs_lead_to_the_system_that_the_source_would_name(
    needs: list[str], keys: dict[str, object], answer: tuple[int, str] | None
) -> None:
    assert recommended(chosen(*needs, keys=keys)) == answer


def test_several_of_a_system_are_weighed_against_one_of_another() -> None:
    choice = chosen("200 GB/s read", "4M IOPS 70/30")
    assert recommended(choice) == (1, PERFORMANCE)
    assert [offer.count for offer in choice.ranked] == [1, 2, 2]
    assert reasons(choice)[1] == (
        f"2 x {LABELS[MAINSTREAM]}: meets the needs too, for 4 % more: storage +369.6, servers −300; "
        "only quotes can decide."
    )


def test_the_reasons_name_what_binds_and_what_the_others_cost() -> None:
    choice = chosen("250 TB", "100 GB/s read")
    assert headline(choice) == f"1 x {LABELS[MAINSTREAM]}: least cost of the 3 that meet the needs"
    assert reasons(choice) == [
        f"1 x {LABELS[MAINSTREAM]}: cost 886.8 (relative); 100 GB/s read binds, next limit 250 TB.",
        f"1 x {LABELS[CAPACITY]}: meets the needs too, for 56 % more: storage +499.2.",
        f"1 x {LABELS[PERFORMANCE]}: meets the needs too, for 92 % more: servers +660, storage +91.2, network +66.",
    ]


def test_a_reserve_that_the_needs_ask_for_is_said_behind_the_answer() -> None:
    said = reasons(chosen("300 TB", "100 GB/s read", keys={"derate": 0.9}))
    assert said[1] == "Bandwidth and IOPS of every system count at 0.9 of what it does (derate)."


def test_a_system_that_meets_a_need_only_by_a_twins_own_rate_says_what_the_low_end_takes() -> None:
    twin = load_device("weka-6x-micron-7450-pro")
    rate = Figure(5.17e6, "simulated", "a run", spread=spread_of(twin, 4096))
    measured = Drive(twin.name, twin.identity.label, {("iops", "read"): rate}, "system")
    prices = read_prices(None)
    needs = Needs.model_validate({"schema": "fathom-needs/1", "needs": ["5.1M IOPS read"]})
    choice = choose(needs, [rated_system(MAINSTREAM, prices, measured)], prices)
    assert recommended(choice) == (1, MAINSTREAM)
    assert reasons(choice)[-1] == (
        "At the low end of the 80 % ranges 2 x WEKA 6-node Mainstream are needed, at a cost of 1,774 (relative)."
    )
    assert not any("low end" in said for said in reasons(chosen("5M IOPS read")))


def test_a_need_that_is_not_understood_is_the_only_error(tmp_path: Path) -> None:
    (tmp_path / "needs.toml").write_text('schema = "fathom-needs/1"\nneeds = ["fast"]\n')
    with pytest.raises(UsageError) as error:
        read_needs(tmp_path / "needs.toml")
    assert len(str(error.value).splitlines()) == 1
    assert "need 'fast': not understood" in str(error.value)


def test_a_latency_known_only_at_full_load_is_no_proof_of_being_slow() -> None:
    choice = chosen("read in 600 us")
    assert recommended(choice) == (1, CAPACITY)
    assert (
        "the best that is known is 931 us, the mean at its maximum by Little's law, 12 hosts x 32 jobs"
        in (reasons(choice)[-1])
    )


def test_a_system_without_a_parts_list_is_compared_and_not_priced() -> None:
    choice = chosen("100 TB", "3M IOPS read", among=(MAINSTREAM, ARRAY))
    assert recommended(choice) == (1, MAINSTREAM)
    assert reasons(choice)[-1].endswith("has no price: the catalogue does not list its parts.")
    assert recommended(
        chosen("100 TB", "read in 200 us", among=(ARRAY,), keys={"prefer": "most IOPS read"})
    ) == (
        1,
        ARRAY,
    )


@pytest.mark.parametrize(
    ("needs", "among", "keys", "said"),
    [
        (["250 TB"], CLUSTERS, {"budget": 1500}, "least cost of the 2 that meet the needs within the budget"),
        (["250 TB"], CLUSTERS, {"budget": 1000}, "the only one that meets the needs within the budget"),
        (["250 TB"], CLUSTERS, {"budget": 500}, "is known to meet the needs within the budget"),
        (["100 TB"], (MAINSTREAM, ARRAY), {}, "the only one that meets the needs and whose cost is known"),
        (["100 TB"], (ARRAY,), {}, "No cost is known of a system that meets the needs"),
        (
            ["100 TB"],
            (MAINSTREAM, ARRAY),
            {"prefer": "most GB/s read"},
            "the only one that meets the needs and whose bandwidth is known",
        ),
        (["read in 500 us"], CLUSTERS, {}, "None of these systems is known to meet the needs"),
    ],
)
def test_the_headline_denies_no_system_what_its_own_reason_grants(
    needs: list[str], among: tuple[str, ...], keys: dict[str, object], said: str
) -> None:
    assert headline(chosen(*needs, among=among, keys=keys)).endswith(said)


def test_the_years_and_drives_of_wear_agree_with_their_numbers() -> None:
    said = reasons(chosen("100 TB", keys={"writes_tb_per_day": 1, "years": 1, "prefer": "most GB/s read"}))
    assert said[1].startswith("Over 1 year of these writes")


def test_years_and_writes_that_no_sum_can_hold_are_refused(tmp_path: Path) -> None:
    needs = write(tmp_path, 'needs = ["100 TB"]\nyears = 1e300\nwrites_tb_per_day = 1e300')
    with pytest.raises(UsageError, match=r"years: expected a number up to 1e\+12"):
        read_needs(Path(needs))


def test_a_price_list_of_ones_own_turns_the_choice(tmp_path: Path) -> None:
    runner = CliRunner()
    shipped = runner.invoke(app, ["choose", "--show-prices"]).stdout
    own = tmp_path / "prices.toml"
    own.write_text(re.sub(r"price = 20\n", "price = 5\n", shipped).replace('"relative"', '"EUR"'))
    needs = write(tmp_path, 'needs = ["100 TB"]')
    before = json.loads(runner.invoke(app, ["choose", needs, *CLUSTERS, "--json"]).stdout)
    after = json.loads(
        runner.invoke(app, ["choose", needs, *CLUSTERS, "--json", "--prices", str(own)]).stdout
    )
    assert (before["recommended"], before["currency"]) == (MAINSTREAM, "relative")
    assert (after["recommended"], after["currency"]) == (CAPACITY, "EUR")
    assert after["schema"] == "fathom-choose/1"
    assert after["systems"][0]["costs"] == {"servers": 360, "network": 66, "storage": 48 * 5}
    assert after["systems"][0]["needs"][0]["source"]


def test_the_terminal_shows_the_cost_split_and_marks_the_best_of_a_row(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["choose", write(tmp_path, 'needs = ["100 TB"]'), *CLUSTERS]).stdout
    rows = {line[:26].strip(): line[26:].split() for line in shown.splitlines()}
    assert rows["storage"] == ["960", "(69", "%)", "460.8", "(52", "%)", "552", "(32", "%)"]
    assert rows["cost per usable TB"] == ["1.424", "*", "2.917", "5.605"]
    assert rows["cost per GB/s read"] == ["12.38", "8.527", "7.507", "*"]
    assert "not quotes" in shown


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('needs = ["1 TB", "fast"]', ":2: need 'fast': not understood"),
        ('needs = ["1 TB"]\nprefer = "fun"', ":3: prefer 'fun': not understood"),
        ('needs = ["1 TB"]\nbuget = 3', ':3: unknown key "buget"; did you mean "budget"'),
        ("needs = []", ":2: needs: expected a list of at least 1, found an empty list"),
        ("needs = [", "not TOML"),
    ],
)
def test_a_wrong_needs_file_is_answered_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        read_needs(Path(write(tmp_path, text)))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["wd-ultrastar-dc-sn861"], "use `fathom size --device"),
        (["weka"], "no published results"),
        ([CAPACITY, CAPACITY], "named twice"),
    ],
)
def test_a_wrong_system_is_answered_in_one_line(tmp_path: Path, names: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["choose", write(tmp_path, 'needs = ["1 TB"]'), *names])
    assert isinstance(result.exception, UsageError)
    assert message in str(result.exception)


def test_a_price_list_that_lacks_a_piece_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "prices.toml"
    own.write_text('schema = "fathom-prices/1"\ncurrency = "EUR"\n[items.x]\nprice = 1\nsource = "quote"\n')
    with pytest.raises(UsageError, match="the price list has no supermicro"):
        rated_system(CAPACITY, read_prices(own))


def write(folder: Path, text: str) -> str:
    path = folder / "needs.toml"
    path.write_text(f'schema = "fathom-needs/1"\n{text}\n')
    return str(path)


def test_eighty_columns_divide_no_word_of_a_systems_name(tmp_path: Path) -> None:
    needs = tmp_path / "needs.toml"
    needs.write_text('schema = "fathom-needs/1"\nneeds = ["250 TB", "100 GB/s read"]\n')
    done = CliRunner().invoke(app, ["choose", str(needs), *CLUSTERS], env={"COLUMNS": "80"})
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    words = {word for line in lines for word in line.split()}
    for name in LABELS.values():
        for part in name.split():
            assert part in words, part


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", 'it has no schema, and "fathom-prices/1" is expected'),
        ('schema = "fathom-needs/1"\nneeds = ["1 TB"]', "its schema is 'fathom-needs/1', and"),
        ("a,b,c", ":1: not TOML: Expected '='"),
        (f"a = {'[' * 100_000}", "is nested too deeply"),
    ],
)
def test_what_is_no_price_list_is_one_line_with_where_to_get_one(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=re.escape(said)) as refused:
        read_prices(path)
    assert str(path) in refused.value.message
    assert refused.value.hint == "`fathom choose --show-prices` prints a price list to edit"
    with pytest.raises(UsageError, match="Is a directory"):
        read_prices(tmp_path)
    if "needs" not in text:
        with pytest.raises(UsageError, match='give one such as schema = "fathom-needs/1"'):
            read_needs(path)


def test_a_price_beyond_all_sums_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    item = f'[items."{CAPACITY}"]\nprice = 1e308\nsource = "a quote"\n'
    path.write_text(f'schema = "fathom-prices/1"\ncurrency = "EUR"\n{item}')
    with pytest.raises(UsageError, match=r"price: expected a number up to 1e\+12, found 1e\+308"):
        read_prices(path)
