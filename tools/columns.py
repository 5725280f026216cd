"""Writes the tables of docs/reference/run-directory.md from the definition of columns.

`python tools/columns.py [--check] [PAGE]`; with `--check` it writes nothing, and ends with 1 where the page differs.
"""

import re
import sys
from pathlib import Path

from fathom.columns.column import Column, Named, columns_of
from fathom.columns.schema import ROWS

PAGE = Path(__file__).parent.parent / "docs" / "reference" / "run-directory.md"
HEAD = "| column | type | unit | meaning | repeats | operations | rounds |\n|---|---|---|---|---|---|---|\n"


def table_of(row: type) -> str:
    """Returns a table in Markdown; columns of one definition share a line."""
    groups: dict[Column, list[Named]] = {}
    for one in columns_of(row).values():
        groups.setdefault(one.column, []).append(one)
    return HEAD + "".join(_line(column, members) for column, members in groups.items())


def _line(column: Column, members: list[Named]) -> str:
    names, kind = ", ".join(one.name for one in members), str(members[0].arrow)
    rules = (rule.value for rule in (column.repeats, column.operations, column.rounds))
    return f"| {' | '.join([names, kind, column.unit, column.meaning, *rules])} |\n"


def page_with_tables(page: str) -> str:
    """Returns the page with the table of each kind of row between its marks."""
    for name, row in ROWS.items():
        begin, end = f"<!-- columns of {name}, by tools/columns.py -->\n", "<!-- end of columns -->"
        if begin not in page:
            raise ValueError(f"{PAGE}: no mark {begin.strip()}")
        table = table_of(row)
        page = re.sub(
            f"{re.escape(begin)}.*?{end}",
            lambda _, new=begin + table + end: new,
            page,
            count=1,
            flags=re.DOTALL,
        )
    return page


def main(arguments: list[str]) -> int:
    """Returns the exit code."""
    check = "--check" in arguments
    page = next((Path(one) for one in arguments if one != "--check"), PAGE)
    text = page.read_text()
    wanted = page_with_tables(text)
    if check and text != wanted:
        print(f"{page}: not as its columns are defined; run `python tools/columns.py`", file=sys.stderr)
        return 1
    if not check:
        page.write_text(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
