"""The command `fathom capture`."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from fathom.cli.options import AsJson, size_bytes
from fathom.cli.output import print_json
from fathom.cli.replay import word_of

if TYPE_CHECKING:
    from fathom.capture.session import Done


def capture(
    devices: Annotated[
        list[Path],
        typer.Argument(help="/dev/nvme0n1, or partitions such as /dev/sda1; several", metavar="DEVICE..."),
    ],
    time: Annotated[
        str | None,
        typer.Option(help="how long, such as 10min (default: until Ctrl-C)", metavar="DURATION"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="the trace: .parquet, .csv or .iolog (default: NAME.parquet here)", metavar="FILE"),
    ] = None,
    process: Annotated[
        list[str] | None,
        typer.Option(help="only I/O that this process queued, by name or thread number", metavar="NAME"),
    ] = None,
    anonymise: Annotated[
        bool,
        typer.Option("--anonymise", help="no places and names; order and reuse of addresses are kept"),
    ] = False,
    buffer: Annotated[
        str | None, typer.Option(help="the kernel's buffer of each CPU (default: 8MiB)", metavar="SIZE")
    ] = None,
    via: Annotated[
        str | None,
        typer.Option(
            help="block-trace or tracepoints of the kernel (default: the first that there is)",
            metavar="TRACE",
        ),
    ] = None,
    end: Annotated[
        bool, typer.Option("--end", help="end a trace that a killed process left in the kernel")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Record the I/O of disks as a trace.

    The kernel records it: that needs root. Ctrl-C ends it, and keeps what was captured.
    """
    from fathom.capture.session import BUFFER_BYTES, Asked, Via, check, end_left_behind, on_itself, record
    from fathom.traces.convert import NAME_IT, complaints, output_format

    if end:
        for device in devices:
            end_left_behind(device)
        return
    asked = Asked(
        devices=devices,
        out=out or Path(f"{devices[0].name}.parquet"),
        duration_s=_seconds(time),
        processes=process or (),
        anonymise=anonymise,
        buffer_bytes=_buffer_bytes(size_bytes(buffer) or BUFFER_BYTES),
        via=None if via is None else word_of("--via", via, get_args(Via)),
    )
    output_format(asked.out, hint=NAME_IT)
    if disk := on_itself(asked, check(asked)):
        print(
            f"fathom: {asked.out} lies on {disk.node}: what the capture writes is in it; "
            "give --out on another disk, or name a --process",
            file=sys.stderr,
        )
    with _ended_by_signals() as ended:
        done = record(asked, ended, _show if sys.stderr.isatty() else None)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    for text in complaints("capture", done.findings, done.converted.ios):
        print(f"fathom: {text}", file=sys.stderr)
    if done.lost:
        print("fathom: give a larger --buffer to lose less", file=sys.stderr)
    if as_json:
        print_json(_as_json(done))
    else:
        print(_in_words(done))


def _as_json(done: "Done") -> dict[str, object]:
    """Returns what was captured, by the keys of `fathom-capture/1`."""
    converted = done.converted
    return {
        "schema": "fathom-capture/1",
        "path": str(converted.path),
        "ios": converted.ios,
        "devices": list(converted.devices),
        "duration_ns": converted.duration_ns,
        "size_bytes": converted.size_bytes,
        "lost": done.lost,
        "via": done.via,
        "left_out": done.left_out,
        "unfinished": done.findings.unfinished,
        "unknown": done.findings.unknown,
        "wrong": done.findings.wrong,
    }


def _in_words(done: "Done") -> str:
    """Returns what was captured, on one line."""
    from fathom.output.text import duration

    converted = done.converted
    span, each = duration(converted.duration_ns / 1e9), converted.size_bytes / converted.ios
    others = f", {done.left_out:,} of others left out" if done.left_out else ""
    return (
        f"{converted.path}: {converted.ios:,} I/Os over {span}{others}, {each:.1f} bytes each, "
        f"{done.lost:,} records lost{', by tracepoints' if done.via == 'tracepoints' else ''}"
    )


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    from fathom import _core
    from fathom.errors import UsageError

    try:
        return _core.parse_duration_ns(text) / 1e9
    except _core.ParseError as error:
        raise UsageError(f"--time: {error}") from error


def _buffer_bytes(asked: int) -> int:
    from fathom.errors import UsageError

    if not 1 << 19 <= asked <= 1 << 30:
        raise UsageError("--buffer: must be 512KiB to 1GiB", "8MiB is the default")
    return asked


@contextmanager
def _ended_by_signals() -> Iterator[Event]:
    """Gives an event that signals to end set, once each; the next does what it did before."""
    ended = Event()
    asking = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def end(number: int, frame: object) -> None:
        ended.set()
        for one, handler in before.items():
            signal.signal(one, handler)

    before = {one: signal.getsignal(one) for one in asking}
    for one in asking:
        signal.signal(one, end)
    try:
        yield ended
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _show(waited_s: float, copied_bytes: int) -> None:
    print(
        f"\r\033[K{waited_s:.0f} s, {copied_bytes / 1e6:,.1f} MB of records",
        end="",
        file=sys.stderr,
        flush=True,
    )
