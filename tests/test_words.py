"""Facts are values; words are made once, for people. No module takes a text apart that another made for people."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import fathom

[PACKAGE] = map(Path, fathom.__path__)
METHODS = {
    "startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "replace", "find",
    "index", "match", "fullmatch", "search", "sub", "findall",
}  # fmt: skip
LOOK_UPS = {"get", "pop", "count"}
FOR_PEOPLE = {
    "error", "message", "failure", "hint", "note", "notes", "reason", "reasons", "remark", "remarks", "why", "absent",
    "limit", "limited_by", "lost", "not_measured", "verdict", "next_step", "grounds", "text", "texts", "what",
}  # fmt: skip
"""Names of variables and attributes that hold words for people."""
OUTSIDE = (
    "imports/", "exports/", "results/", "power/", "catalog/", "method/", "targets/", "text_file.py", "load/binding.py",
    "load/resolve.py", "fleet/agent.py", "fleet/hosts.py", "sizing/", "sweep/grid.py", "compare/gate.py",
    "compare/metrics.py", "compare/sides.py", "cli/command.py", "output/printed.py", "store/address.py",
    "store/failures.py", "store/lake.py", "store/query.py",
)  # fmt: skip
"""These read what users and other programs write: there, `text` is no text of ours."""
KNOWN = {
    # DuckDB's errors are text; their first line is shown, with the names that they propose.
    "report/data.py: str(error).partition('\\n')",
    "runs/query.py: str(error).strip().split('\\n')",
    # Targets and method files as a user wrote them.
    "fleet/fleet.py: text.startswith('twin:')",
    "fleet/host_targets.py: text.startswith(PREFIX)",
    "session/begin.py: record.text.lstrip().startswith('{')",
    "recommend/objective.py: re.fullmatch(_FORM, text.strip())",
    # How reads came to a GPU, in runs of versions that wrote it in words only.
    "report/sections/gpu_feed.py: said.get('copies to the GPU alone', {})",
    # A unit of the catalogue, and names of facts about the machine that end in their unit.
    "validation/cases.py: 'I/O above' in (row.unit or '')",
    "report/sections/provenance.py: name.endswith(' bytes')",
    "report/sections/provenance.py: name.removesuffix(' bytes')",
    # Words for people made shorter or marked up for people; nothing follows from them.
    "analysis/finding.py: re.sub(',? ?(\\\\()?https?://[^\\\\s)]+(?(1)\\\\))', '', without_document(source))",
    "analysis/beside_published.py: what.replace('figures', 'figure', 1)",
    "compare/views.py: text.replace(char, f'\\\\{char}')",
    "report/html_page.py: CODE.sub('<code>\\\\1</code>', str(escape(unbroken(text))))",
    "report/style.py: MICRO.sub('µs', text)",
    "output/text.py: re.sub(' \\\\(\\\\d{3}_[0-9a-f]{16}\\\\)', '', source)",
    "report/added_loads.py: load.replace('x', ' x ')",
}


def matched(tree: ast.AST) -> Iterator[str]:
    """Yields every expression that looks into a text for people, or looks for or compares with a phrase of words."""
    return (ast.unparse(node) for node in ast.walk(tree) if reads_words(node))


def reads_words(node: ast.AST) -> bool:
    """Whether what follows from it depends on words."""
    match node:
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=[first, *_] as given):
            if name in METHODS:
                return any(map(is_for_people, [value, *given])) or any(map(is_phrase, given))
            return name in LOOK_UPS and is_phrase(first)
        case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[inside]):
            listed = inside.elts if isinstance(inside, ast.Tuple | ast.List | ast.Set) else []
            return (is_for_people(inside) and is_text(left)) or any(map(is_phrase, [left, *listed]))
        case ast.Compare(left=left, comparators=others):
            return any(map(is_phrase, [left, *others]))
        case ast.MatchValue(value=one) | ast.Subscript(slice=one, ctx=ast.Load()):
            return is_phrase(one)
    return False


def is_for_people(node: ast.AST) -> bool:
    """Whether it is a name or attribute of `FOR_PEOPLE`, or a text made of one."""
    if isinstance(node, ast.Name | ast.Attribute):
        return (node.id if isinstance(node, ast.Name) else node.attr) in FOR_PEOPLE
    if isinstance(node, ast.Call):
        inside = [node.func.value] if isinstance(node.func, ast.Attribute) else node.args
        return any(map(is_for_people, inside))
    return False


def is_text(node: ast.AST) -> bool:
    """Whether it is a text by its form."""
    is_made = isinstance(node, ast.Call) and ast.unparse(node.func) in ("str", "repr")
    return isinstance(node, ast.JoinedStr) or is_made or isinstance(value_of(node), str)


def is_phrase(node: ast.AST) -> bool:
    """Whether it is a literal text with a letter and a space inside or at an end."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    texts = [value for part in parts if isinstance(value := value_of(part), str)]
    return any(" " in text and any(map(str.isalpha, text)) for text in texts)


def value_of(node: ast.AST) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def found_in(package: Path) -> set[str]:
    return {
        f"{name}: {text}"
        for path in package.rglob("*.py")
        if not (name := path.relative_to(package).as_posix()).startswith(OUTSIDE)
        for text in matched(ast.parse(path.read_text(encoding="utf-8")))
    }


def test_no_module_takes_a_text_for_people_apart() -> None:
    assert found_in(PACKAGE) == KNOWN


@pytest.mark.parametrize(
    "code",
    [
        """match = _FORM.fullmatch(text)""",
        """_IN_FLIGHT.sub("think time", text, count=1)""",
        """[text for text in sampler.absent if not text.startswith("energy of ")]""",
        """[reason for reason in reasons if not reason.startswith("quick run")]""",
        """text if target.path and str(target.path) in text else other""",
        """error.message.removeprefix(f"host {host.name}")""",
        """[text.replace(own[host].name, target.name) for text in texts]""",
        """[text.partition(": ") for text in view.not_measured[target]]""",
        """limited_by(recording).startswith("target or ")""",
        """is_wrong = "wrong data" in str(error)""",
        """threads = recording.setup["submission"] == "by one thread per I/O" """,
        """polled = recording.setup.get("polls for completions")""",
        """why = recording.setup["no huge pages"]""",
        """late = code in ("late arrivals", "busy cores")""",
        """match str(error):\n    case "holds no data": pass""",
    ],
)
def test_a_rule_that_reads_a_sentence_is_found(code: str) -> None:
    assert list(matched(ast.parse(code)))
