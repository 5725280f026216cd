"""Commands on traces: convert and characterise."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.command import Command
from fathom.cli.options import AsJson
from fathom.cli.output import print_json, stdout

trace_app = typer.Typer(
    name="trace",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Convert traces of I/O that something else recorded.",
)

TraceFile = Annotated[
    Path,
    typer.Argument(
        help="Parquet, CSV, blktrace, blkparse, fio iolog, perf script, biosnoop, a public trace; - is standard input",
        metavar="TRACE",
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="parquet, csv, msr, systor, alibaba, tencent, cloudphysics, blktrace, blkparse, iolog, perf or biosnoop "
        "(default: recognised)",
        metavar="FORMAT",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="the fields of a CSV in order, such as time_us,op,offset,size,_,latency_us", metavar="NAMES"
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="refuse a trace with a wrong line")]

TraceDevice = Annotated[
    str | None, typer.Option(help="which of the trace's devices, where it has several", metavar="NAME")
]


@trace_app.command(cls=Command)
def convert(
    trace: TraceFile,
    out: Annotated[Path, typer.Argument(help="the new file: .parquet, .csv or .iolog", metavar="OUT")],
    format: Format = None,
    columns: Columns = None,
    to: Annotated[str | None, typer.Option(help="parquet, csv or iolog", metavar="FORMAT")] = None,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Write a trace as Parquet, CSV or a fio iolog (version 3)."""
    from fathom.traces.convert import complaints
    from fathom.traces.convert import convert as write
    from fathom.traces.opening import open_trace

    opened = open_trace(trace, format, columns)
    with TraceProgress() as progress:
        done = write(opened, out, to, strict=strict, progress=progress.show)
    for text in complaints(opened.name, opened.findings, done.ios):
        print(f"fathom: {text}", file=sys.stderr)
    if as_json:
        print_json(
            {
                "schema": "fathom-trace-convert/1",
                "path": str(done.path),
                "ios": done.ios,
                "devices": list(done.devices),
                "duration_ns": done.duration_ns,
                "size_bytes": done.size_bytes,
                "wrong": opened.findings.wrong,
            }
        )
    else:
        from fathom.output.text import duration

        span, each = duration(done.duration_ns / 1e9), done.size_bytes / done.ios
        print(f"{done.path}: {done.ios:,} I/Os over {span}, {each:.1f} bytes each")


def characterise(
    trace: TraceFile,
    out: Annotated[
        Path | None, typer.Option(help="the HTML file (default: NAME.html here)", metavar="FILE")
    ] = None,
    format: Format = None,
    columns: Columns = None,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Describe a trace, as a page and a summary.

    Shows rates, mix, runs, hot spots, reuse, bursts, depth and latency.
    """
    from fathom.errors import UsageError
    from fathom.output.output_file import check_output
    from fathom.report.trace import print_profile, profile_json, write_page
    from fathom.traces.convert import complaints, refuse_wrong
    from fathom.traces.opening import open_trace
    from fathom.traces.profile import characterise as sum_up

    opened = open_trace(trace, format, columns)
    if out is None and trace == Path("-"):
        raise UsageError("a trace from standard input has no name for its page", "give --out FILE")
    path = out or Path(f"{trace.name.split('.')[0] or trace.name}.html")
    check_output(path)
    with TraceProgress() as progress:
        profile = sum_up(opened, progress.show)
    if strict:
        refuse_wrong(opened)
    for text in complaints(opened.name, opened.findings, profile.ios):
        print(f"fathom: {text}", file=sys.stderr)
    write_page(profile, path)
    if as_json:
        print_json(profile_json(profile))
    else:
        console = stdout()
        print_profile(console, profile)
        console.print(f"page  {path}", highlight=False, soft_wrap=True)


class TraceProgress:
    """Shows on a terminal how much of a trace has been read, and takes it away at the end."""

    def __init__(self) -> None:
        self._shown = False

    def __enter__(self) -> "TraceProgress":
        """Returns itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Takes the line away."""
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def show(self, share: float | None, ios: int) -> None:
        """Draws the line anew."""
        if sys.stderr.isatty():
            self._shown = True
            percent = "" if share is None else f"{100 * share:.0f} %, "
            print(f"\r\033[K{percent}{ios:,} I/Os", end="", file=sys.stderr, flush=True)
