"""Tables in a narrow terminal: whatever width there is, nothing is cut off."""

import pytest
from rich.console import Console
from rich.text import Text

from fathom.table import flush_table


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
