"""The command that fits a job to a trace."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from fathom.cli.options import AsJson, size_bytes
from fathom.cli.output import print_json, stderr, stdout
from fathom.cli.traces import Columns, Format, Strict, TraceDevice, TraceFile


def fit(
    trace: TraceFile,
    out: Annotated[
        Path | None, typer.Option(help="the method's file (default: standard output)", metavar="FILE")
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            "--on", help="the twin that runs trace and job; none leaves that out", metavar="twin:NAME"
        ),
    ] = "twin:samsung-pm9a3-7.68tb",
    trace_device: TraceDevice = None,
    align: Annotated[
        str, typer.Option(help="I/Os grow to whole blocks of this size", metavar="SIZE")
    ] = "4KiB",
    format: Format = None,
    columns: Columns = None,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Write a method whose job is like a trace.

    Then runs trace and job on the same twin. Shows both figures, and what the job misses.
    """
    from fathom.errors import UsageError
    from fathom.fitting.chosen import Choice, count
    from fathom.fitting.fit import fit as fit_job
    from fathom.fitting.proof import prove
    from fathom.fitting.terminal import fit_json, notes, print_proof
    from fathom.fitting.to_method import method_toml
    from fathom.method.method import parse_method
    from fathom.output.output_file import check_output, write_output
    from fathom.traces.convert import complaints, refuse_wrong
    from fathom.traces.opening import open_trace

    if trace == Path("-"):
        raise UsageError(
            "a fit reads its trace several times", "save it with `fathom trace convert - OUT.parquet`"
        )
    if on != "none" and not on.startswith("twin:"):
        raise UsageError(f"--on is {on!r}", "name a twin of the catalogue, twin:NAME, or none")
    if out is not None:
        check_output(out)
    counted = count(Choice(lambda: open_trace(trace, format, columns), trace_device, size_bytes(align) or 1))
    read = counted.trace
    if strict:
        refuse_wrong(read)
    for text in complaints(read.name, read.findings, read.findings.clock.ios):
        print(f"fathom: {text}", file=sys.stderr)
    fitted = fit_job(counted)
    doubts = [f"Mind: {doubt}." for doubt in read.findings.clock.doubts() if fitted.length_s]
    method = method_toml(fitted, [*notes(fitted), *doubts])
    parse_method(method, out.name if out else "the fitted method")
    proof = None if on == "none" else prove(fitted, counted.choice, on)
    if out is not None:
        write_output(out, method.encode())
    if as_json:
        print_json(fit_json(fitted, method, proof))
    elif out is None:
        print(method, end="")
    if proof is not None and not as_json:
        print_proof(stderr() if out is None else stdout(), proof)
