"""Tags and a note on a run, kept beside the runs in `.labels/`: its directory and checksums stay as they are."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from fathom.errors import FathomError, UsageError
from fathom.runs.files import alone_in, errors_in_place, no_link, write_json

FOLDER = ".labels"
MOST_TAGS = 20
MOST_NOTE_CHARS = 4000

Tag = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=40, pattern=r"^[^,\x00-\x1f]+$")
]


class Labels(BaseModel):
    """The whole of a run's file of labels."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    format: Literal["fathom-labels/1"] = Field(default="fathom-labels/1", alias="schema")
    tags: tuple[Tag, ...] = Field(default=(), max_length=MOST_TAGS)
    note: str = Field(default="", max_length=MOST_NOTE_CHARS)

    @classmethod
    def checked(cls, tags: Iterable[str], note: str) -> "Labels":
        """Returns tags, each once, and a note. Raises UsageError for what is too long, too many, or no tag."""
        once = dict.fromkeys(tag.strip() for tag in tags)
        try:
            return cls(tags=tuple(once), note="\n".join(note.splitlines()).strip())
        except ValidationError as error:
            raise UsageError(
                f"a tag has 1 to 40 characters and no comma, a run {MOST_TAGS} tags at most, "
                f"a note {MOST_NOTE_CHARS:,} characters at most",
                "shorten them, and give each tag by itself",
            ) from error

    def changed(self, add: Iterable[str], remove: Iterable[str], note: str | None) -> "Labels":
        """Returns them with tags added and removed, and another note unless that is None. Raises UsageError as
        `checked`.
        """
        gone = {tag.strip() for tag in remove}
        kept = [tag for tag in (*self.tags, *add) if tag.strip() not in gone]
        return Labels.checked(kept, self.note if note is None else note)


def all_labels(home: Path) -> dict[str, Labels]:
    """Returns the labels of a folder's runs by name; of those that nobody labelled, and of damaged files, none."""
    found: dict[str, Labels] = {}
    for file in (home / FOLDER).glob("*.json"):
        with suppress(FathomError):
            found[file.stem] = read_labels(home / file.stem)
    return found


def labels_file(run: Path) -> Path:
    """Returns where the labels of a run are, whether it has any or not."""
    return run.parent / FOLDER / f"{run.name}.json"


def read_labels(run: Path) -> Labels:
    """Returns a run's labels; none where nobody gave any. Raises FathomError for a damaged file."""
    path = labels_file(run)
    try:
        with open(path, encoding="utf-8", opener=no_link) as file:
            return Labels.model_validate_json(file.read())
    except FileNotFoundError:
        return Labels()
    except (OSError, ValidationError, UnicodeDecodeError) as error:
        raise FathomError(f"{path}: labels cannot be read", "save them again, or remove the file") from error


def change_labels(run: Path, change: Callable[[Labels], Labels], *, anew: bool = False) -> Labels:
    """Replaces a run's labels by what `change` makes of them, and returns those. With `anew` a damaged file has none.

    Raises FathomError for a damaged file, and where they cannot be written.
    """
    path = labels_file(run)
    with errors_in_place(path.parent):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with alone_in(path.parent):
            try:
                before = read_labels(run)
            except FathomError:
                if not anew:
                    raise
                before = Labels()
            after = change(before)
            write_json(path, after.model_dump(by_alias=True, mode="json"))
    return after
