"""Holds pages, docstrings, comments and messages to plain English: short sentences, subject first, the field's words.

Run by `make lint`. `python tools/prose.py [FILE...]` prints each finding as FILE:LINE: what, and ends with 1.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_WORDS = 25
RULES = (
    (re.compile(r"\b(?:tells?|told)\b(?! apart)", re.IGNORECASE), 'write "show", "report" or "print"'),
    (re.compile(r"(?:^|[.:;] )Of\b"), "put the subject first, not `Of ...`"),
    (re.compile(r"\bso many\b", re.IGNORECASE), "give the number, or leave it out"),
    (re.compile(r"\bthe same of\b", re.IGNORECASE), "name it again"),
    (re.compile(r"\bof which\b", re.IGNORECASE), "begin a new sentence"),
)
_HINT = re.compile(r"(?:pyright|noqa|fmt|type):")
LEAST_WORDS = 4
"""Shorter strings in code are names, keys and headings."""
NO_VERBS = frozenset(
    re.findall(
        r"\w+",
        """
        bytes seconds lines steps points rows keys samples intervals sizes values findings curves percentiles
        columns means blocks drives figures shares ratios errors targets notes sentences cells parts warnings
        devices commands dies results rates medians stretches twins hosts threads units options ranges jobs titles
        sections tables panels charts items latencies systems logarithms versions slopes clocks bands pages words
        files this its others less
        """,
    )
)
"""Words that end in s and begin no sentence with a verb."""


def sources() -> list[Path]:
    """Returns the pages, and the Python and Rust files outside tests, that are held to the rules."""
    return [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        *sorted((ROOT / "python/fathom").rglob("*.py")),
        *sorted((ROOT / "tools").glob("*.py")),
        *(file for file in sorted((ROOT / "crates").glob("*/src/**/*.rs")) if "tests" not in file.parts),
    ]


def findings(file: Path) -> Iterator[tuple[int, str]]:
    """Yields each line and what is wrong there."""
    text = file.read_text(encoding="utf-8")
    match file.suffix:
        case ".py":
            yield from _in_python(
                text, strings=file != Path(__file__).resolve(), verbs="cli" not in file.parts
            )
        case ".rs":
            yield from _in_rust(text)
        case _:
            yield from _in_prose(text)


def _in_prose(text: str, first: int = 1) -> Iterator[tuple[int, str]]:
    for line, sentence in sentences(text):
        words = len(re.findall(r"[\w'’./-]*\w", sentence))
        if words > MOST_WORDS:
            yield first + line - 1, f"{words} words: {sentence}"
        for rule, remedy in RULES:
            if match := rule.search(sentence):
                yield first + line - 1, f"{match[0].strip()!r}: {remedy}"


def _in_python(text: str, *, strings: bool, verbs: bool) -> Iterator[tuple[int, str]]:
    """Yields what is wrong in docstrings and comments.

    With `strings` messages are read too, and with `verbs` how functions are described.
    """
    for first, comment in _comments_of_python(text):
        yield from _in_prose(comment, first)
    docstrings: set[ast.AST] = set()
    inner: set[ast.AST] = set()
    for node in ast.walk(ast.parse(text)):
        for statement in (
            getattr(node, "body", None) or [] if not isinstance(node, ast.Lambda | ast.IfExp) else []
        ):
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                docstrings.add(statement.value)
                yield from _in_prose(cleandoc(str(statement.value.value)), statement.lineno)
        if (
            verbs
            and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (said := _without_verb(node))
        ):
            yield node.body[0].lineno, said
        if isinstance(node, ast.JoinedStr):
            inner.update(node.values)
        if strings and node not in docstrings and node not in inner and (said := _message(node)):
            for _, what in _in_prose(said):
                if "words:" not in what:
                    yield getattr(node, "lineno", 1), what


def _comments_of_python(text: str) -> Iterator[tuple[int, str]]:
    """Yields each comment that has lines to itself, with its first line; hints for tools are none."""
    lines: list[str] = []
    last, column = 0, 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        said = token.string.lstrip("#").strip()
        if token.type != tokenize.COMMENT or token.line.strip() != token.string.strip() or _HINT.match(said):
            continue
        if lines and token.start != (last + 1, column):
            yield last - len(lines) + 1, "\n".join(lines)
            lines = []
        lines.append(said)
        last, column = token.start
    if lines:
        yield last - len(lines) + 1, "\n".join(lines)


def _message(node: ast.AST) -> str:
    """Returns the text of a string of a few words, its fields as one word each; empty for any other node."""
    match node:
        case ast.Constant(value=str(text)):
            pass
        case ast.JoinedStr(values=values):
            text = "".join(str(one.value) if isinstance(one, ast.Constant) else "X" for one in values)
        case _:
            return ""
    return text if len(text.split()) >= LEAST_WORDS and "select " not in text else ""


def _without_verb(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Returns what is wrong with the first word of a public function's docstring; empty where nothing is.

    A property names a value, so it does not have to.
    """
    said = ast.get_docstring(node)
    decorated = " ".join(ast.unparse(one) for one in node.decorator_list)
    if not said or node.name.startswith("_") or re.search("property|setter", decorated):
        return ""
    word = said.split()[0]
    if re.fullmatch(r"[A-Z][a-z]+s[.,:;]?", word) and word.strip(".,:;").lower() not in NO_VERBS:
        return ""
    return f'a docstring begins with a verb, "Returns ...", not with {word!r}'


def _in_rust(text: str) -> Iterator[tuple[int, str]]:
    """Yields what is wrong in doc comments, other comments, and the texts of errors."""
    comment: list[str] = []
    first, kind = 1, ""
    for number, line in enumerate([*text.splitlines(), ""], 1):
        match = re.match(r"\s*(///|//!|//)(?: |$)(.*)", line)
        if comment and (not match or match[1] != kind):
            yield from _in_prose("\n".join(comment), first)
            comment = []
        if match:
            first, kind = (first, kind) if comment else (number, match[1])
            comment.append(match[2])
        elif said := re.search(r'#\[error\("(.*)"', line):
            yield from _in_prose(re.sub(r"\{[^}]*\}", "X", said[1]), number)


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yields the sentences of a page with the line of each. Links count by their words, code as one word."""
    for first, paragraph in _paragraphs(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "Code", paragraph))
        line = first
        for sentence in re.split(r"(?<=[.!?:])\s+(?=[A-Z*_])", plain):
            if sentence.strip():
                yield line, " ".join(sentence.split())
            line += sentence.count("\n")


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    open_lines: list[str] = []
    first, in_code = 1, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fence = line.lstrip().startswith("```")
        aside = in_code or fence or line.startswith(("    ", "#", "![")) or line.lstrip().startswith("|")
        item = re.match(r"\s*(?:[-*]|\d+\.)\s+", line)
        if open_lines and (aside or item or not line.strip()):
            yield first, "\n".join(open_lines)
            open_lines = []
        in_code ^= fence
        if not aside and line.strip():
            first = first if open_lines else number
            open_lines.append(line[item.end() :] if item else line)


def main(named: list[str]) -> int:
    """Returns 1 where something was found."""
    found = [
        f"{file.relative_to(ROOT) if file.is_relative_to(ROOT) else file}:{line}: {what}"
        for file in ([Path(name).resolve() for name in named] or sources())
        for line, what in findings(file)
    ]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
