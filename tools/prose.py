"""Holds the documentation to plain English: sentences of 25 words, a subject before its verb, the field's words.

Run by `make lint`. `python tools/prose.py [FILE...]` prints each finding as FILE:LINE: what, and ends with 1.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST_WORDS = 25
RULES = (
    (re.compile(r"\b(?:tells?|told)\b(?! apart)", re.IGNORECASE), 'write "show", "report" or "print"'),
    (
        re.compile(r"(?:^|[.:;] )Of (?:the|each|every|all|what|a|an)\b[^.,]*,"),
        "put the subject first, not `Of ...,`",
    ),
    (re.compile(r"\bso many\b", re.IGNORECASE), "give the number, or leave it out"),
    (re.compile(r"\bthe same of\b", re.IGNORECASE), "name it again"),
    (re.compile(r"\bof which\b", re.IGNORECASE), "begin a new sentence"),
)


def pages() -> list[Path]:
    """The pages that are held to the rules."""
    return [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "CHANGELOG.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    ]


def findings(text: str) -> Iterator[tuple[int, str]]:
    """Lines and what is wrong there, apart from code and tables."""
    for line, sentence in sentences(text):
        words = len(re.findall(r"[\w'’./-]*\w", sentence))
        if words > MOST_WORDS:
            yield line, f"{words} words: {sentence}"
        for rule, remedy in RULES:
            if match := rule.search(sentence):
                yield line, f"{match[0].strip()!r}: {remedy}"


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """The sentences of a page with the line that each begins on. Links count by their words, code as one word."""
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
        aside = in_code or fence or line.startswith(("|", "    ", "#", "!["))
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
        f"{page.relative_to(ROOT) if page.is_relative_to(ROOT) else page}:{line}: {what}"
        for page in ([Path(name).resolve() for name in named] or pages())
        for line, what in findings(page.read_text(encoding="utf-8"))
    ]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
