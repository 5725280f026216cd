"""Seeded damage of run directories: what disks, copies and editors do to files."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path

Random = random.Random


def _files(run: Path, *patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns or ("*",) for path in run.rglob(pattern) if path.is_file())


def _flip_bits(path: Path, chance: Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(chance.choice((1, 1, 8))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _truncate(path: Path, chance: Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: chance.randrange(len(data))])


def _empty(path: Path, chance: Random) -> None:
    path.write_bytes(b"")


def _zero_a_part(path: Path, chance: Random) -> None:
    data = path.read_bytes()
    start = chance.randrange(len(data))
    end = min(len(data), start + chance.choice((16, 512, 4096)))
    path.write_bytes(data[:start] + bytes(end - start) + data[end:])


def _append_garbage(path: Path, chance: Random) -> None:
    with path.open("ab") as file:
        file.write(chance.choice((b"5\n", b"{}\n", b"\xff\xfe\n", b"PAR1", chance.randbytes(100))))


def _delete(path: Path, chance: Random) -> None:
    path.unlink()


def _become_a_folder(path: Path, chance: Random) -> None:
    path.unlink()
    path.mkdir()


def _edit_json(path: Path, chance: Random) -> None:
    """Changes, removes or adds a value somewhere in a JSON document, or in one line of a journal."""
    lines = path.read_text().splitlines(keepends=True) if path.suffix == ".jsonl" else [path.read_text()]
    number = chance.randrange(len(lines))
    document = json.loads(lines[number])
    place = document
    while True:
        key = chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
        if not (isinstance(place[key], dict | list) and place[key] and chance.random() < 0.8):
            break
        place = place[key]
    match chance.randrange(4):
        case 0 if key != "sha256":
            del place[key]
        case 1 if isinstance(place, dict):
            place["added"] = 1
        case _:
            place[key] = _other(place[key], chance)
    lines[number] = json.dumps(document) + "\n"
    path.write_text("".join(lines))


def _other(value: object, chance: Random) -> object:
    match value:
        case bool():
            return not value
        case int() | float():
            return chance.choice((value + 1, value * 2 + 1, -1, None, "many"))
        case str():
            return chance.choice((value + "x", "", None, 7))
        case _:
            return chance.choice((1, "x", [], {}, [1]))


EACH: tuple[tuple[str, Callable[[Path, Random], None]], ...] = (
    ("flip bits", _flip_bits),
    ("flip bits", _flip_bits),
    ("truncate", _truncate),
    ("empty", _empty),
    ("zero a part", _zero_a_part),
    ("append garbage", _append_garbage),
    ("delete", _delete),
    ("become a folder", _become_a_folder),
)


def damage(run: Path, other: Path, seed: int) -> str:
    """Damages a run directory in one place; `other` is another run of the same method. Returns what was done."""
    chance = Random(seed)
    kind = chance.randrange(len(EACH) + 6)
    if kind < len(EACH):
        what, change = EACH[kind]
        path = chance.choice([path for path in _files(run) if path.stat().st_size])
        change(path, chance)
        return f"{what}: {path.relative_to(run)}"
    if kind < len(EACH) + 3:
        path = chance.choice(_files(run, "*.json", "journal.jsonl"))
        _edit_json(path, chance)
        return f"edit JSON: {path.relative_to(run)}"
    if kind == len(EACH) + 3:
        first, second = chance.sample(_files(run), 2)
        held = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(held)
        return f"swap: {first.relative_to(run)} and {second.relative_to(run)}"
    if kind == len(EACH) + 4:
        path = chance.choice([path for path in _files(run) if (other / path.relative_to(run)).is_file()])
        path.write_bytes((other / path.relative_to(run)).read_bytes())
        return f"another run's: {path.relative_to(run)}"
    folder = chance.choice(sorted((run / "steps").iterdir()))
    shutil.rmtree(folder)
    if chance.random() < 0.5:
        shutil.copytree(chance.choice(sorted((other / "steps").iterdir())), folder)
    return f"delete or replace the folder: {folder.relative_to(run)}"
