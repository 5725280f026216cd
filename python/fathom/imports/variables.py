"""Variables in the files of other load generators: what stands for `${NAME}` and `$NAME`."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from fathom.errors import UsageError
from fathom.imports.draft import Draft

_NAME = re.compile(r"\w+")
_WRITTEN = re.compile(r"\$\{(?P<braced>\w+)\}|\$(?P<bare>\w+)")


@dataclass
class Variables:
    """Values by name, as the caller gives them. Remembers which of them the file asks for."""

    given: Mapping[str, str] = field(default_factory=dict[str, str])
    _used: set[str] = field(default_factory=set[str])

    def fill(
        self,
        text: str,
        place: str,
        draft: Draft,
        *,
        of_file: Mapping[str, str] | None = None,
        environment: bool = False,
    ) -> str:
        """Returns a text with the values of its variables, and notes each with where it comes from.

        `of_file` are those that the file sets itself. With `environment` a braced one may also come from there.
        A variable without a value stays as it is.
        """

        def value_of(found: re.Match[str]) -> str:
            name = found["braced"] or found["bare"]
            if name in self.given:
                self._used.add(name)
                value, source = self.given[name], "--set"
            elif of_file and name in of_file:
                value, source = of_file[name], "the file"
            elif environment and found["braced"] and name in os.environ:
                value, source = os.environ[name], "the environment"
            else:
                return found[0]
            draft.note(f"{place}: {found[0]}: {value}, from {source}")
            return value

        return _WRITTEN.sub(value_of, text)

    def check_all_used(self, file: str) -> None:
        """Raises UsageError for a value that the file does not ask for."""
        for name in self.given:
            if name not in self._used:
                raise UsageError(f"--set {name}: {file} has no ${name}", "take it out, or correct the name")


def missing(text: str, place: str) -> UsageError:
    """Returns the refusal of a text in which a variable has no value."""
    found = _WRITTEN.search(text)
    if not found:
        return UsageError(
            f"{place}: {text}: $ stands for something else", "write the value that it stands for"
        )
    name = found["braced"] or found["bare"]
    return UsageError(f"{place}: {found[0]} has no value", f"give --set {name}=VALUE, or write its value")


def variables_of(texts: list[str]) -> Variables:
    """Returns the variables of `NAME=VALUE` texts. Raises UsageError."""
    given: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise UsageError(f"--set {text}: not a NAME=VALUE", "write one like --set size=10g")
        if given.setdefault(name, value) != value:
            raise UsageError(f"--set {name} is there twice", "give it one value")
    return Variables(given)
