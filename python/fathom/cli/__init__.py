"""The command line: parses, calls, prints. Every heavy import waits until its command runs."""

import sys

import typer

from fathom.cli.command import Command
from fathom.cli.look_up import catalog_app, devices, methods_app
from fathom.cli.measure import plan, resume, review, run, verify
from fathom.cli.predict import calibrate, choose, size, sweep, validate
from fathom.cli.results import query, report, runs
from fathom.errors import ExitCode, FathomError

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Measures storage as the best public tests do, explains the result, and predicts what you do not own.",
)
app.add_typer(methods_app, name="methods")
app.add_typer(catalog_app, name="catalog")
for function in (
    review,
    run,
    plan,
    resume,
    verify,
    report,
    devices,
    validate,
    calibrate,
    size,
    sweep,
    choose,
    runs,
    query,
):
    app.command(cls=Command)(function)


def main() -> None:
    """The entry point: every error that a user can cause is one line on stderr and an exit code."""
    try:
        app()
    except FathomError as error:
        print(f"fathom: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(ExitCode.OK)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        print(f"fathom: {where}{error.strerror or error}", file=sys.stderr)
        sys.exit(ExitCode.FAILED)
