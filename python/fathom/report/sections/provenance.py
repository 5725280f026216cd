"""Where the figures come from: the targets' identities, the machine, and the method file word for word."""

from collections.abc import Mapping

from pydantic import JsonValue

from fathom.output.text import capacity, size
from fathom.report.blocks import Block, Group, Item, Row, Section, Table, Verbatim
from fathom.report.comparison import Column, Comparison, run_letter
from fathom.report.data import RunData
from fathom.report.style import plain, slot

ORDER = 70


def build(comparison: Comparison) -> Section | None:
    """Returns targets, environments, methods."""
    blocks: list[Block] = [_targets(comparison), *_loads(comparison), _environments(comparison)]
    for text in dict.fromkeys(run.document.method.text for run in comparison.runs):
        document = next(run.document for run in comparison.runs if run.document.method.text == text)
        if document.origin is None:
            blocks.append(Verbatim(f"Method file {plain(document.method.name)}.toml", text))
        elif text:
            blocks.append(Verbatim(f"Options of {plain(document.origin.title)}, as its file has them", text))
    return Section("provenance", "Targets, machine and method", blocks, short="Provenance")


def flat(value: Mapping[str, JsonValue], prefix: str = "") -> dict[str, str]:
    """Returns nested values as joined names and text: `{"cpu": {"model": "x"}}` becomes `cpu model: x`."""
    out: dict[str, str] = {}
    for key, entry in value.items():
        name = f"{prefix} {key}".strip().replace("_", " ")
        if isinstance(entry, dict):
            out |= flat(entry, name)
        elif isinstance(entry, list):
            out[name] = ", ".join(_text(part) for part in entry)
        else:
            out[name] = _text(entry)
    return out


def _with_units(facts: Mapping[str, str]) -> dict[str, str]:
    """Returns counts of bytes as people read them: `memory bytes: 25276514304` becomes `memory: 23.54 GiB`."""
    return {
        name.removesuffix(" bytes"): size(int(text)) if name.endswith(" bytes") and text.isdecimal() else text
        for name, text in facts.items()
    }


def _text(value: JsonValue) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "–" if value is None or value == "" else plain(str(value))


def _targets(comparison: Comparison) -> Table:
    facts = {column.index: _facts(column) for column in comparison.columns}
    heads = [Item(column.label, slot=slot(column.index)) for column in comparison.columns]
    return Table(
        "Target", heads, [Group("", _union([facts[c.index] for c in comparison.columns]))], numeric=False
    )


def _facts(column: Column) -> dict[str, str]:
    target = column.target
    facts = {"target": plain(target.name), "kind": target.kind, "capacity": _addressed(column)}
    if target.scale is not None and target.scale != 1:
        facts["simulated share of capacity"] = f"{100 * target.scale:.3g} %"
    if target.catalog:
        facts["catalogue entry"] = plain(target.catalog)
    identity = dict(target.identity)
    sold = identity.pop("size_bytes", None)
    if isinstance(sold, int):
        facts["size"] = capacity(sold)
    return facts | _with_units(flat(identity))


def _addressed(column: Column) -> str:
    target, document = column.target, column.run.document
    if target.capacity_bytes is None:
        return "–"
    if document.hosts_of(target):
        return f"{capacity(round(document.copies_of(target) * target.capacity_bytes))}, all hosts together"
    return capacity(target.capacity_bytes)


def _loads(comparison: Comparison) -> list[Block]:
    """Returns how the load on real targets was made: the settings achieved of those asked for."""
    made = {
        column.index: {aspect: _ways(ways, column.run) for aspect, ways in aspects.items()}
        for column in comparison.columns
        if (aspects := column.run.run.setups.get(column.target.name))
    }
    if not made:
        return []
    columns = [column for column in comparison.columns if column.index in made]
    heads = [Item(column.label, slot=slot(column.index)) for column in columns]
    return [Table("Load", heads, [Group("", _union([made[c.index] for c in columns]))], numeric=False)]


def _ways(ways: Mapping[str, str], run: RunData) -> str:
    """Returns the setting; if steps differ, each value with the first step that has it."""
    if len(ways) == 1:
        return plain(next(iter(ways)))
    return "; ".join(f"{plain(way)} (first in {plain(run.called(step))})" for way, step in ways.items())


def _environments(comparison: Comparison) -> Table:
    several = len(comparison.runs) > 1
    heads = [Item(f"Run {run_letter(i)}" if several else "This run") for i in range(len(comparison.runs))]
    return Table(
        "Machine", heads, [Group("", _union([_machine(run) for run in comparison.runs]))], numeric=False
    )


def _machine(run: RunData) -> dict[str, str]:
    document = run.document
    facts = _with_units(flat(document.environment)) | {
        f"{name} version": version for name, version in document.versions.items()
    }
    if document.origin:
        files = ", ".join(plain(file.name) for file in document.origin.files)
        return facts | {"imported from": files, "run": plain(document.id)}
    return facts | {"seed": str(document.seed), "run": plain(document.id)}


def _union(facts: list[dict[str, str]]) -> list[Row]:
    """Returns one row per name that any column has, in order of first appearance."""
    names = dict.fromkeys(name for column in facts for name in column)
    return [Row(Item(name), [Item(column.get(name, "–")) for column in facts]) for name in names]
