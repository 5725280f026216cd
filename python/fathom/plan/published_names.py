"""Names of published results that a method gives and the catalogue lacks. A method may have results elsewhere."""

import re
from collections.abc import Iterator, Set

from fathom.catalog import CatalogError, entries, load_published
from fathom.catalog.store import nearest
from fathom.method.method import Method

_IN_METHOD = re.compile(r'\bpublished\s*=\s*"([^"]+)"')


def unknown_published(method: Method, file: str) -> Iterator[str]:
    """Yields a line for each name of published results that neither the catalogue nor a method of it has.

    Such a name is no error: another catalogue may have its results. `file` is what the lines call the method. Yields
    none where a file of the catalogue is wrong: what it holds is not known.
    """
    steps: dict[str, str] = {}
    for step in method.steps:
        if step.published:
            steps.setdefault(step.published, step.name)
    if not steps:
        return
    try:
        known = _known()
    except CatalogError:
        return
    for name, step in steps.items():
        if name not in known:
            hint = nearest(name, sorted(known)).strip() or "leave it out where nothing is published"
            yield f'{file}: step {step}: the catalogue has no published result called "{name}"; {hint}'


def _known() -> Set[str]:
    """Returns the names of all published results, and those that methods of the catalogue give. Raises CatalogError."""
    rows = {row.workload for entry in entries("published") for row in load_published(entry.name).rows}
    return rows | {name for entry in entries("methods") for name in _IN_METHOD.findall(entry.text())}
