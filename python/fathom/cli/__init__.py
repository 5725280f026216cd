"""The command line: parses, calls, prints. Every heavy import waits until its command runs."""

import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, TextIO

import typer

from fathom.cli.capture import capture
from fathom.cli.command import Command, Grouped, ParserError, refused
from fathom.cli.compare import compare
from fathom.cli.fit import fit
from fathom.cli.imports import export_file, import_file
from fathom.cli.label import label
from fathom.cli.look_up import catalog_app, devices, methods_app
from fathom.cli.measure import plan, resume, review, run, verify
from fathom.cli.namespaces import namespaces
from fathom.cli.new_device import new_device
from fathom.cli.no_frames import no_frames
from fathom.cli.option_groups import ungrouped
from fathom.cli.others import export_results, import_results
from fathom.cli.predict import calibrate, choose, sensitivity, size, sweep, validate, what_if
from fathom.cli.recommend import recommend
from fathom.cli.results import check, query, report, runs
from fathom.cli.serve import serve
from fathom.cli.store import store_app
from fathom.cli.streams import open_closed_streams
from fathom.cli.supervise import report_to_terminal
from fathom.cli.traces import characterise, trace_app
from fathom.errors import DamageWarning, ExitCode, FathomError, UnverifiedWarning, UsageError
from fathom.output.printed import cleaned_streams
from fathom.text_file import check_utf8

app = typer.Typer(
    cls=Grouped,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help=(
        "Measures storage as the best public tests do, explains the result, and predicts drives that you do not "
        "own."
    ),
)


def _print_version(asked: bool) -> None:
    if asked:
        from fathom import __version__

        print(f"fathom {__version__}")
        raise typer.Exit


@app.callback()
def _every_command(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    pass


COMMANDS = {
    "Measure": (review, run, plan, resume, verify, devices, namespaces),
    "Read results": (report, compare, runs, label, query, check, serve, store_app),
    "Predict": (sweep, what_if, size, choose),
    "Loads of your own": (capture, trace_app, characterise, fit, recommend),
    "Other tools": (import_file, export_file, import_results, export_results),
    "Methods and devices": (
        methods_app,
        catalog_app,
        new_device,
        validate,
        calibrate,
        sensitivity,
    ),
}
"""What the help lists under each heading."""
NAMES = {import_file: "import", export_file: "export"}
"""Commands whose names are not those of their functions."""

NO_THREAD = "can't start new thread"
"""How Python says that a limit of processes or of memory allows no other thread."""

for heading, commands in COMMANDS.items():
    for one in commands:
        if isinstance(one, typer.Typer):
            app.add_typer(one, rich_help_panel=heading)
        else:
            app.command(NAMES.get(one), cls=Command, rich_help_panel=heading)(ungrouped(one))


def main() -> None:
    """The entry point: every error that a user can cause is one line on stderr and an exit code."""
    open_closed_streams()
    report_status = report_to_terminal(sys.argv[1:])
    with cleaned_streams(), no_frames():
        _say_warnings()
        status = _status()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        status = status or ExitCode.OUTPUT_CLOSED
    if status == ExitCode.OUTPUT_CLOSED:
        # What is left in the buffer would be written, and complained about, when the interpreter ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    report_status(status if isinstance(status, int) else int(status is not None))
    sys.exit(status)


def _why_not(error: OSError) -> str:
    """Returns what an error of the system says, and what to do where the current directory is gone."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return "the current directory was removed; change to another"
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"


def _status() -> int | str | None:
    try:
        for argument in sys.argv[1:]:
            check_utf8(argument)
        return app(standalone_mode=False)
    except FathomError as error:
        print(f"fathom: {error}", file=sys.stderr)
        return error.exit_code
    except ParserError as error:
        return _say_what_the_parser_refused(error)
    except typer.Abort:
        print("fathom: the input ended before the last answer; start again", file=sys.stderr)
        return ExitCode.FAILED
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except SystemExit as end:
        # Parser and tables make a plain failure of an output that nobody reads any more.
        return ExitCode.OUTPUT_CLOSED if isinstance(end.__context__, BrokenPipeError) else end.code
    except BrokenPipeError:
        return ExitCode.OUTPUT_CLOSED
    except OSError as error:
        print(f"fathom: {_why_not(error)}", file=sys.stderr)
        return ExitCode.FAILED
    except MemoryError:
        print("fathom: not enough memory; raise the limit of this shell or container", file=sys.stderr)
        return ExitCode.FAILED
    except RuntimeError as error:
        if str(error) != NO_THREAD:
            raise
        hint = "raise the limit of processes (`ulimit -u`, `--pids-limit` of a container) or memory (`ulimit -v`)"
        print(f"fathom: no room for another thread; {hint}", file=sys.stderr)
        return ExitCode.FAILED


def _say_what_the_parser_refused(error: ParserError) -> ExitCode:
    """Prints a wrong argument as one line; a group of commands without any argument prints its help."""
    context, message = error.ctx, error.format_message()
    if context and message == context.get_help():
        print(message, file=sys.stderr)
    else:
        command = context.command_path if context else "fathom"
        hint = f"`{command} --help` shows what it takes"
        said = (None if context and context.parent else _method_as_command()) or UsageError(
            refused(message), hint
        )
        print(f"fathom: {said}", file=sys.stderr)
    return ExitCode.USAGE


def _method_as_command() -> UsageError | None:
    """Returns what to say of a method's name in the place of a command; None for other errors."""
    from fathom.catalog.load import method_names

    word = next(iter(sys.argv[1:]), "")
    if word not in ("replay", *method_names()):
        return None
    trace = " --trace TRACE" if word == "replay" else ""
    return UsageError(f"{word} is a method, not a command", f"`fathom run {word}{trace} TARGET` runs it")


def _say_warnings() -> None:
    """Prints warnings of damaged runs as lines on stderr, each once; warnings of libraries stay as they are."""
    others = warnings.showwarning
    said: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if not issubclass(category, DamageWarning | UnverifiedWarning):
            others(message, category, filename, lineno, file, line)
        elif str(message) not in said:
            said.add(str(message))
            print(f"fathom: {message}", file=sys.stderr)

    warnings.showwarning = show
    for category in (DamageWarning, UnverifiedWarning):
        warnings.simplefilter("always", category)
