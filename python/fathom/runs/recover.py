"""Puts the directory of a resumed run in order: half-done renames after a crash, and damaged steps."""

import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from fathom.runs.damage import Damage
from fathom.runs.event_log import Event
from fathom.runs.files import sync_directory
from fathom.runs.layout import SET_ASIDE, STEPS, step_folders
from fathom.runs.steps import StepKey, StepOutcome, read_outcome, step_faults


@dataclass(frozen=True)
class SetAside:
    """A damaged step whose folder was moved away, so that it is measured again."""

    key: StepKey
    damage: tuple[Damage, ...]


def finish_renames(run: Path, run_id: str) -> None:
    """Completes the renames at the end of a step: a whole step is moved into place, a half-written one is removed."""
    steps = run / STEPS
    for building in sorted(steps.glob(".*.new")):
        name = building.name[1:].removesuffix(".new")
        if step_faults(building, run_id, name):
            shutil.rmtree(building)
        else:
            move_in(building, steps / name)
    for old in sorted(steps.glob(".*.old")):
        final = steps / old.name[1:].removesuffix(".old")
        if final.exists():
            shutil.rmtree(old)
        else:
            old.rename(final)
    sync_directory(steps)


def move_in(building: Path, final: Path, *, durable: bool = True) -> None:
    """Puts a step's folder in its place, and waits for the disk if `durable`. An earlier attempt is there until the
    new one is.
    """
    old = final.with_name(f".{final.name}.old")
    if final.exists():
        final.rename(old)
    building.rename(final)
    if durable:
        sync_directory(final.parent)
    if old.exists():
        shutil.rmtree(old)


def live_log(folder: Path) -> Path:
    """Returns where a step's seconds are while it runs."""
    return folder.with_name(f"{folder.name}.live.jsonl")


def set_aside(run: Path, damaged: dict[str, list[Damage]]) -> Iterator[SetAside]:
    """Moves damaged steps out of the way, one after the other."""
    for name, damage in damaged.items():
        key, folder = StepKey.of_folder(name), run / STEPS / name
        if key is None:
            continue
        if folder.exists():
            aside = run / SET_ASIDE
            aside.mkdir(exist_ok=True)
            folder.rename(aside / f"{name}-{len(list(aside.glob(f'{name}-*'))) + 1}")
            sync_directory(folder.parent)
        yield SetAside(key, tuple(damage))


def drop_live_logs(run: Path, events: list[Event], targets: list[str], unsaid: Collection[StepKey]) -> None:
    """Removes the live logs whose seconds are in the folders of their steps; `unsaid` are steps whose end the journal
    lacks. The log of a later attempt that did not end stays, and the next attempt gives it a number.
    """
    last = {
        (event.get("target"), event.get("step")): event["event"]
        for event in events
        if event["event"] in ("step-start", "step-end")
    }
    for folder in step_folders(run):
        key = StepKey.of_folder(folder.name)
        if key is None or key.target >= len(targets):
            continue
        if key in unsaid or last.get((targets[key.target], key.name)) != "step-start":
            live_log(folder).unlink(missing_ok=True)


def missing_ends(run: Path, events: list[Event], targets: list[str]) -> Iterator[tuple[StepKey, StepOutcome]]:
    """Returns finished steps whose end the journal lacks: a crash came between the folder and the line."""
    said: dict[tuple[object, object], tuple[object, ...]] = {}
    for event in events:
        if event["event"] == "step-end":
            said[event.get("target"), event.get("step")] = (event.get("status"), event.get("window_s"))
    for folder in step_folders(run):
        key, outcome = StepKey.of_folder(folder.name), read_outcome(folder)
        if key is None or outcome is None or key.target >= len(targets):
            continue
        if said.get((targets[key.target], key.name)) != (outcome.status, outcome.window_s):
            yield key, outcome
