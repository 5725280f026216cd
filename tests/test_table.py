"""Tables in a narrow terminal: whatever width there is, nothing is cut off."""

import pytest
from rich.console import Console
from rich.text import Text

from fathom.output.table import Name, flush_table, row_lines


@pytest.mark.parametrize("width", [76, 80, 84])
def test_a_table_that_is_narrowed_keeps_the_last_character_of_every_column(width: int) -> None:
    console = Console(width=width)
    table = flush_table(edge=False)
    table.add_column("", min_width=12, max_width=24)
    for _ in range(5):
        heading = Text("16 KiB random 70/30 read/write, 64 outstanding\nIOPS")
        table.add_column(heading, justify="right", overflow="fold")
    table.add_row("Samsung PM9A3\ntwin", *["335,047\noutstanding I/O"] * 5)
    with console.capture() as captured:
        console.print(table)
    text = captured.get()
    assert [text.count(word) for word in ("IOPS", "335,047", "I/O")] == [5, 5, 5]


def lines_of(name: str, width: int) -> list[str]:
    console = Console(width=width)
    table = flush_table(None)
    table.add_column("", overflow="fold")
    table.add_row(Name(name))
    with console.capture() as captured:
        console.print(table)
    return [line.strip() for line in captured.get().splitlines()]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (60, ["weka-cluster-high-capacity-6500-ion, over_provisioning"]),
        (24, ["weka-cluster-high-", "capacity-6500-ion, over_", "provisioning"]),
        (10, ["weka-", "cluster-", "high-", "capacity-", "6500-ion,", "over_", "provisioni", "ng"]),
    ],
)
def test_a_name_is_divided_behind_hyphens_and_underscores(width: int, lines: list[str]) -> None:
    assert [
        line for line in lines_of("weka-cluster-high-capacity-6500-ion, over_provisioning", width) if line
    ] == lines


def test_a_name_is_never_markup() -> None:
    assert [line for line in lines_of("a[bold]-[/]", 40) if line] == ["a[bold]-[/]"]


def test_a_list_whose_last_cell_is_a_long_path_stays_within_its_width() -> None:
    rows = [("run", "n", "targets"), ("a" * 20, "1", f"file:/srv/data/{'x' * 30}/of a.bin")]
    assert row_lines(rows, 40, gap=2, right=1)[1].splitlines() == [
        "aaaaaaaaaaaaaaaaaaaa  1  file:/srv/data/",
        "                         xxxxxxxxxxxxxxx",
        "                         xxxxxxxxxxxxxxx",
        "                         /of a.bin",
    ]


def test_a_long_list_has_its_columns_below_each_other_and_folds_the_last() -> None:
    rows = [("run", "n", "targets"), ("a", "1,000", "twin:kioxia-cm7-r"), ("漢字", "2", "x\ny\x1b[31m")]
    assert row_lines(rows, 25, gap=2, right=1) == [
        "run       n  targets",
        "a     1,000  twin:kioxia-\n             cm7-r",
        "漢字      2  x y�[31m",
    ]
