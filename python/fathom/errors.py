"""The errors a user can cause: each has an exit code and prints as one line: what, where, what to do next.

The command line catches `FathomError`, prints `str(error)` and exits with `error.exit_code`. Defects of the
product itself are ordinary Python exceptions and are not in this tree.
"""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from importlib.util import find_spec
from pathlib import Path

NEW_RUN = "start a new run"
"""The hint of errors after which no `fathom resume` can go on: what the run had written is gone, or another's."""


MOST_SHOWN = 2000
"""Characters of a message: a line of a file that is quoted may have millions."""


class ExitCode(IntEnum):
    """What the process reports to its caller; the numbers are part of the command line's contract."""

    OK = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    GATE_FAILED = 4
    INTERRUPTED = 130
    OUTPUT_CLOSED = 141
    """As the shell says of a program that SIGPIPE ended: whoever read its output stopped reading."""


class FathomError(Exception):
    """Something went wrong in a way that the user can understand and mend.

    `message` says what happened and where (file, line, device, step), `hint` what to do next. Neither ends in
    a full stop; line breaks in either are folded, so that the error stays one line. The middle of a message that
    quotes more than `MOST_SHOWN` characters is left out.
    """

    exit_code = ExitCode.FAILED
    target: str | None = None
    """The target that the message names, where that is known."""
    run: Path | None = None
    """The directory of the run that ended with it; its tables hold what was measured."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        """Fold both texts to one line each."""
        self.message = _shortened(" ".join(message.split()))
        self.hint = " ".join(hint.split()) if hint else None
        super().__init__(self.message)

    def __str__(self) -> str:
        """Return the one line: `message; hint`."""
        return f"{self.message}; {self.hint}" if self.hint else self.message


class UsageError(FathomError):
    """The command, a name or a file given to it is not what was expected."""

    exit_code = ExitCode.USAGE


class MissingPackagesError(UsageError):
    """What was asked needs packages that are not installed. The hint is the command that installs them."""

    def __init__(self, message: str, extra: str) -> None:
        """Names the packages of an extra of Fathom's."""
        super().__init__(message, install_command(extra))


class RefusedError(FathomError):
    """Fathom could have gone on but would have put data at risk. `rules` are those that a target has broken, if any."""

    exit_code = ExitCode.REFUSED

    def __init__(self, message: str, hint: str | None = None, rules: tuple[str, ...] = ()) -> None:
        """Keep the rules beside the two texts."""
        super().__init__(message, hint)
        self.rules = rules


class GateError(FathomError):
    """Everything ran, and a limit that the user set was not met."""

    exit_code = ExitCode.GATE_FAILED


class InterruptedRunError(FathomError):
    """The user stopped the run; what was measured is saved."""

    exit_code = ExitCode.INTERRUPTED


def install_command(extra: str) -> str:
    """Returns the command that installs the packages of an extra beside this Fathom.

    It names the packages, not `fathom[extra]`: what PyPI has under the name `fathom` is another program.
    """
    from importlib import metadata

    try:
        required = metadata.requires("fathom") or []
    except metadata.PackageNotFoundError:
        return f"install the packages of the extra {extra!r} in Fathom's pyproject.toml"
    split = [one.partition(";") for one in required]
    marked = f"extra == '{extra}'"
    packages = [name.strip() for name, _, marker in split if marked in marker.replace('"', "'")]
    python = shlex.quote(sys.executable)
    if find_spec("pip") is None:
        uv = Path(__file__).parents[2] / "tools" / "uv"
        installer = f"{shlex.quote(str(uv)) if uv.is_file() else 'uv'} pip install --python {python}"
    else:
        installer = f"{python} -m pip install"
    return f"run: {installer} {shlex.join(packages)}"


def _shortened(message: str) -> str:
    if len(message) <= MOST_SHOWN:
        return message
    return f"{message[: MOST_SHOWN // 2]} ... {message[-MOST_SHOWN // 4 :]}"


@contextmanager
def naming(target: str) -> Iterator[None]:
    """Marks errors inside the `with`, whose messages name the target, with its name."""
    try:
        yield
    except FathomError as error:
        error.target = target
        raise


class DamageWarning(UserWarning):
    """A file of a run is damaged, and the figures come from what else there is. One line."""


class UnverifiedWarning(UserWarning):
    """A run has no checksums, so damage may go unnoticed. One line."""


class ImportedWarning(UserWarning):
    """The run of a fio or Vdbench file or a fio command differs from the original's. One line."""
