"""The last good run of a method on a target: the base that a series of comparisons in CI moves forward by itself."""

import json
from pathlib import Path

from fathom.compare.rows import Row
from fathom.compare.sides import Side, names_of
from fathom.errors import FathomError, UsageError
from fathom.runs.files import alone_in, write_atomically
from fathom.runs.home import runs_home

LAST_GOOD = "last-good"
_FILE = "last-good.json"
_SCHEMA = "fathom-last-good/1"


def last_good(new: Side) -> str | None:
    """Returns the run to compare with; None where none was kept yet for this method and these targets.

    Raises FathomError for a damaged file, and for a run that is gone.
    """
    kept = _load().get(_key(new))
    if kept is not None and not all(Path(path).exists() for path in names_of(kept)):
        raise FathomError(
            f"{kept}: the last good run is gone", f"remove its line from {runs_home() / _FILE}, or name a run"
        )
    return kept


def keep(new: Side) -> None:
    """Makes a side the last good one of its method and targets."""
    paths = ",".join(str(run.run.path.resolve()) for run in new.runs)
    home = runs_home()
    home.mkdir(parents=True, exist_ok=True)
    with alone_in(home):
        document = {"schema": _SCHEMA, "runs": _load() | {_key(new): paths}}
        write_atomically(home / _FILE, json.dumps(document, indent=1) + "\n")


def is_worse(row: Row, level_pct: float) -> bool:
    """Returns whether a figure keeps a run from being the base.

    Small steps add up, so an interval counts by its side alone. Without one, a rate counts beyond the level; the tails
    of few I/Os would keep almost every run.
    """
    ratio = row.difference.ratio if row.difference else row.ratio
    if ratio is None or (ratio > 1) == row.metric.higher_is_better:
        return False
    if row.difference:
        return row.difference.is_shown
    return row.metric.name in ("iops", "mbps") and abs(100 * (ratio - 1)) > level_pct


def _key(new: Side) -> str:
    document = new.runs[0].document
    names = sorted(column.target.name for column in new.comparison.columns)
    return " ".join([document.method.name, *(["--quick"] if document.quick else []), *names])


def _load() -> dict[str, str]:
    path = runs_home() / _FILE
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        runs = document["runs"]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: not readable", "remove it, and name a run as the base") from error
    if not isinstance(runs, dict):
        raise UsageError(f"{path}: not readable", "remove it, and name a run as the base")
    return {str(key): str(value) for key, value in runs.items()}
