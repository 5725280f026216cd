"""Commands of the pages for users: where they stand, what program they call, and what they need to run."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(?P<kind>\w*)\n(?P<body>.*?)^```", flags=re.MULTILINE | re.DOTALL)
SHELL = ("console", "sh", "bash", "")
ELSEWHERE = re.compile(
    r"/dev/|/mnt/|--hosts|--ray|--local-hosts|prometheus:|blkparse|^make |^fio (?!--)|^nvme |SERIAL"
)
"""What no test machine has: drives, mounts, hosts, meters; `make` runs the tests themselves."""


@dataclass(frozen=True)
class Command:
    """A line that a page asks its reader to type."""

    page: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}: {self.text}"

    @property
    def runs_anywhere(self) -> bool:
        """Whether it needs nothing but twins, files and earlier runs."""
        return not ELSEWHERE.search(self.text)

    def of_fathom(self) -> Iterator[list[str]]:
        """Yields the arguments of each call of `fathom` in it: redirections and other programs are left out."""
        words = shlex.split(self.text, comments=True)
        while words:
            end = next((at for at, word in enumerate(words) if word in ("|", ">", "<")), len(words))
            if words[0].endswith("fathom"):
                yield words[1:end]
            words = words[end + 2 :] if words[end : end + 1] in ([">"], ["<"]) else words[end + 1 :]


def commands(page: Path) -> list[Command]:
    """Returns the commands of the page's blocks in order; a line that ends in a backslash goes on in the next."""
    text = page.read_text()
    found = []
    for fence in FENCE.finditer(text):
        if fence["kind"] not in SHELL:
            continue
        body = fence["body"].replace("\\\n", "  ")
        prompted = "$ " in body
        first = text.count("\n", 0, fence.start("body")) + 1
        for at, line in enumerate(body.splitlines()):
            if line.startswith("$ ") or (not prompted and re.match(r"(fathom|fio) ", line)):
                found.append(Command(page, first + at, line.removeprefix("$ ").replace(".venv/bin/", "")))
    return found


@dataclass(frozen=True)
class Output:
    """What a page shows as the output of a program: under a prompt, or as a block of its own."""

    page: Path
    line: int
    command: str
    """The prompt's command; empty for a block of its own."""
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def outputs(page: Path) -> list[Output]:
    """Returns the outputs that the page shows, in order."""
    text = page.read_text()
    found = []
    for fence in FENCE.finditer(text):
        line = text.count("\n", 0, fence.start("body")) + 1
        if fence["kind"] == "text":
            found.append(Output(page, line, "", fence["body"]))
        elif fence["kind"] in SHELL and "$ " in fence["body"]:
            body = fence["body"].replace("\\\n", "  ")
            for prompted in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, flags=re.MULTILINE):
                if prompted[2].strip():
                    found.append(Output(page, line, prompted[1], prompted[2]))
    return found


def block(page: str, kind: str) -> str:
    """Returns the page's first block of a kind, such as `toml`."""
    text = (ROOT / page).read_text()
    return next(fence["body"] for fence in FENCE.finditer(text) if fence["kind"] == kind)
