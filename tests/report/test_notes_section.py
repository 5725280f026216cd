"""Validity notes of several targets: what is true of more than one is said once, with their names."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

import synthetic
from fathom.report.blocks import NoteItem, Notes
from fathom.report.comparison import compare
from fathom.report.data import load
from fathom.report.sections import notes
from fathom.runs.document import NoteRecord


def shown(tmp_path: Path, texts: Sequence[str]) -> list[NoteItem]:
    """The notes of a run whose targets have one each."""
    run = load(synthetic.make_run(tmp_path / "run", synthetic.TWINS[: len(texts)]))
    run.document.notes[:] = [
        NoteRecord(
            rule="simulated-slice", level="info", target=target.name, step=None, text=text, next_step=""
        )
        for target, text in zip(run.document.targets, texts, strict=True)
    ]
    section = notes.build(compare([run]))
    assert section
    [block] = section.blocks
    assert isinstance(block, Notes)
    return list(block.notes)


def test_a_note_that_is_true_of_every_target_is_said_once(tmp_path: Path) -> None:
    [note] = shown(tmp_path, ["slice 1/1024"] * 3)
    assert (note.where, note.texts) == ("All targets", ["slice 1/1024"])


def test_a_note_that_is_true_of_some_targets_names_them(tmp_path: Path) -> None:
    first, second = shown(tmp_path, ["slice 1/1024", "slice 1/512", "slice 1/1024"])
    labels = [target.label for target in synthetic.TWINS[:3]]
    assert (first.where, second.where) == (f"{labels[0]} and {labels[2]}", labels[1])


@pytest.mark.parametrize("level", ["error", "warning"])
@pytest.mark.parametrize("count", [1, 3, 20])
def test_a_note_on_many_steps_is_said_once_with_the_other_steps_behind_a_switch(
    tmp_path: Path, level: Literal["error", "warning"], count: int
) -> None:
    run = load(synthetic.make_run(tmp_path / "run", synthetic.TWINS[:1]))
    target = run.document.targets[0].name
    run.document.notes[:] = [
        NoteRecord(
            rule="r", level=level, target=target, step=f"s{number}", text=f"{number} arrived", next_step=""
        )
        for number in range(count)
    ]
    section = notes.build(compare([run]))
    assert section
    [block] = section.blocks
    assert isinstance(block, Notes)
    [note] = block.notes
    assert len(note.texts) + len(note.more) == count
    if count == 20:
        assert note.where.endswith(", s0")
        assert note.texts == ["0 arrived; with other figures in 19 other steps"]
        assert note.more[0] == "s1: 1 arrived"
    else:
        assert not note.more
