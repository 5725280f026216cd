"""On which line of a TOML text each key stands, which `tomllib` does not report.

For texts that `tomllib` has accepted: the scanner follows tables, dotted keys, arrays and inline tables, and checks
nothing.
"""

import re

Path = tuple[str | int, ...]

_TOKEN = re.compile(
    r'''
      """(?:\\.|[^\\])*?"{3,5}     # basic strings, many lines and one
    | "(?:\\.|[^"\\])*"
    | \'{3}.*?\'{3,5}              # literal strings
    | \'[^\']*\'
    | \#[^\n]*
    | \n
    | [\[\]{}=,.]
    | [^\s\[\]{}=,.\#"\']+        # bare keys and what is left of values
    ''',
    re.DOTALL | re.VERBOSE,
)


def key_lines(text: str) -> dict[Path, int]:
    """Returns the line (from 1) of every key, table and array element, by its path as in the parsed document."""
    return _Scanner(text).lines


class _Scanner:
    def __init__(self, text: str) -> None:
        self.lines: dict[Path, int] = {}
        self._counts: dict[Path, int] = {}
        self._tokens: list[tuple[str, int]] = []
        line = 1
        for token in _TOKEN.findall(text):
            if not token.startswith("#"):
                self._tokens.append((token, line))
            line += token.count("\n")
        self._at = 0
        table: Path = ()
        while self._at < len(self._tokens):
            if self._peek() == "\n":
                self._at += 1
            elif self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)

    def _peek(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else "\n"

    def _take(self) -> str:
        token = self._peek()
        self._at += 1
        return token

    def _key(self, end: str) -> Path:
        parts: list[str | int] = []
        while (token := self._take()) != end:
            if token != ".":
                parts.append(token[1:-1] if token[0] in "\"'" else token)
        return tuple(parts)

    def _mark(self, path: Path, line: int) -> None:
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)

    def _header(self) -> Path:
        line = self._tokens[self._at][1]
        self._at += 1
        is_array = self._peek() == "["
        self._at += is_array
        parts = self._key("]")
        self._at += is_array
        table: Path = ()
        for index, part in enumerate(parts):
            table += (part,)
            if is_array and index == len(parts) - 1:
                self._counts[table] = self._counts.get(table, -1) + 1
            if table in self._counts:
                table += (self._counts[table],)
        self._mark(table, line)
        return table

    def _pair(self, table: Path) -> None:
        line = self._tokens[self._at][1]
        path = table + self._key("=")
        self._mark(path, line)
        self._value(path)

    def _value(self, path: Path) -> None:
        opening = self._peek()
        if opening not in ("[", "{"):
            while self._peek() not in (",", "]", "}", "\n"):
                self._at += 1
            return
        self._at += 1
        closing, index = {"[": "]", "{": "}"}[opening], 0
        while (token := self._peek()) != closing:
            if token in (",", "\n"):
                self._at += 1
            elif opening == "{":
                self._pair(path)
            else:
                self._mark((*path, index), self._tokens[self._at][1])
                self._value((*path, index))
                index += 1
        self._at += 1
