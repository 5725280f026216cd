"""The command line: parses, calls, prints. Every heavy import waits until its command runs."""

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from fathom.catalog import Kind
from fathom.command import Command
from fathom.errors import ExitCode, FathomError

if TYPE_CHECKING:
    from rich.console import Console

    from fathom.fleet.hosts import Nodes
    from fathom.method import Method
    from fathom.runs.reader import Run
    from fathom.session import Options
    from fathom.site import Site
    from fathom.sizing.files import Prices
    from fathom.targets.target import Target
    from fathom.workers import Workers

PIPED_COLUMNS = 160

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Measures storage as the best public tests do, explains the result, and predicts what you do not own.",
)
methods_app = typer.Typer(invoke_without_command=True, rich_markup_mode=None, help="What can be run.")
catalog_app = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
    help="Devices, systems and published results built in.",
)
app.add_typer(methods_app, name="methods")
app.add_typer(catalog_app, name="catalog")

Targets = Annotated[
    list[str],
    typer.Argument(
        help="/dev/nvme0n1, file:PATH, dir:PATH, dir:PATH*8, null:, twin:NAME, twin:NAME*8 or array:TARGET,TARGET",
        metavar="TARGET...",
    ),
]
MethodName = Annotated[
    str, typer.Argument(help="a name from `fathom methods`, or a method file", metavar="METHOD")
]
Quick = Annotated[
    bool, typer.Option("--quick", help="shorten the method as it states itself; the report says so")
]
Seed = Annotated[int, typer.Option(help="seed of every random choice", metavar="N", min=0, max=2**64 - 1)]
Size = Annotated[
    str | None, typer.Option(help="size of files that Fathom makes, such as 4GiB", metavar="SIZE")
]
Destroy = Annotated[
    list[str],
    typer.Option(help="serial of a device whose data may be lost; once per device", metavar="SERIAL"),
]
Out = Annotated[
    Path | None, typer.Option(help="folder for the run (default: the home of all runs)", metavar="DIR")
]
Hosts = Annotated[
    Path | None, typer.Option(help="do it on the hosts that a file names, one a line", metavar="FILE")
]
Shell = Annotated[str, typer.Option(help="how to reach those hosts: SHELL HOST sh", metavar="COMMAND")]
RayAddress = Annotated[
    str | None, typer.Option("--ray", help="do it on every node of a Ray cluster", metavar="ADDRESS")
]
LocalHosts = Annotated[
    int | None, typer.Option(help="do it on N nodes on this machine, to try a fleet out", metavar="N")
]
Power = Annotated[
    str | None,
    typer.Option(help="a power meter: csv:PATH[?column=NAME] or prometheus:URL?query=QUERY", metavar="METER"),
]
Together = Annotated[
    bool,
    typer.Option("--together", help="load the real targets at once, as one array, not one after another"),
]
Repeats = Annotated[
    int,
    typer.Option(help="run it N times, each with its own seed, and pool them", metavar="N", min=1, max=100),
]
AsJson = Annotated[bool, typer.Option("--json", help="print one JSON document instead")]
PriceList = Annotated[
    Path | None, typer.Option("--prices", help="a price list (default: a relative one)", metavar="FILE")
]
RunName = Annotated[str, typer.Argument(help="a run's path, id, part of an id, or `last`", metavar="RUN")]


@app.command(cls=Command)
def review(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="default: a scratch file here and four twins", metavar="[TARGET...]"),
    ] = None,
    full: Annotated[bool, typer.Option("--full/--quick", help="full durations, or shortened ones")] = False,
    repeats: Repeats = 1,
    seed: Seed = 1,
    size: Size = None,
    destroy: Destroy = [],  # noqa: B006 (typer copies defaults)
    out: Out = None,
    power: Power = None,
    as_json: AsJson = False,
) -> None:
    """The main job: review targets side by side and write one report."""
    from fathom.review import review_method, review_targets

    method = review_method(full=full)
    chosen = review_targets(targets or [], out, _bytes(size))
    _conclude(_repeat(method, chosen, _options(seed, destroy, out, power), repeats), as_json)


@app.command(cls=Command)
def run(
    method: MethodName,
    targets: Targets,
    together: Together = False,
    quick: Quick = False,
    repeats: Repeats = 1,
    seed: Seed = 1,
    size: Size = None,
    destroy: Destroy = [],  # noqa: B006
    out: Out = None,
    power: Power = None,
    hosts: Hosts = None,
    shell: Shell = "ssh",
    ray: RayAddress = None,
    local_hosts: LocalHosts = None,
    baseline: Annotated[
        str | None, typer.Option(help="an earlier run of the drive alone, to report beside", metavar="RUN")
    ] = None,
    prices: PriceList = None,
    as_json: AsJson = False,
) -> None:
    """Run a method on targets, from here or from many hosts at once."""
    from fathom.baseline import with_baselines
    from fathom.file_system import with_file_system
    from fathom.method import load_method
    from fathom.resolve import together as as_array
    from fathom.runs.home import find_run
    from fathom.sizing.files import read_prices

    parsed, listed = load_method(method, quick=quick), read_prices(prices)
    beside = [find_run(baseline)] if baseline else []
    with _site(hosts, shell, ray, local_hosts) as site:
        options = _options(seed, destroy, out, power, site)
        texts = as_array(targets) if together else targets
        chosen = with_baselines(
            parsed, with_file_system(parsed, site.resolve(texts, _bytes(size)), _bytes(size))
        )
        finished = _repeat(parsed, chosen, options, repeats)
    _conclude(finished, as_json, beside, listed)


@app.command(cls=Command)
def plan(
    method: MethodName,
    targets: Targets,
    together: Together = False,
    quick: Quick = False,
    repeats: Repeats = 1,
    size: Size = None,
) -> None:
    """Show what a run would do: steps, bytes, time. Touches nothing."""
    from fathom.file_system import with_file_system
    from fathom.method import load_method
    from fathom.plan import print_plan
    from fathom.resolve import resolve_targets
    from fathom.resolve import together as as_array

    parsed = load_method(method, quick=quick)
    texts = as_array(targets) if together else targets
    chosen = with_file_system(parsed, resolve_targets(texts, _bytes(size)), _bytes(size))
    print_plan(_stdout(), parsed, chosen, repeats)


@app.command(cls=Command)
def resume(
    run: RunName,
    destroy: Destroy = [],  # noqa: B006
    hosts: Hosts = None,
    shell: Shell = "ssh",
    ray: RayAddress = None,
    local_hosts: LocalHosts = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run after a crash or an interrupt.

    What is finished is kept.
    """
    from fathom.resolve import targets_of_run
    from fathom.runs.document import RunDocument
    from fathom.runs.home import find_run
    from fathom.session import resume_run

    path = find_run(run)
    with _site(hosts, shell, ray, local_hosts) as site:
        options = _options(1, destroy, None, None, site)
        with _watched(targets_of_run(RunDocument.load(path), site.resolve), options):
            finished = resume_run(path, options)
    _conclude([finished], as_json)


@app.command(cls=Command)
def verify(
    journal: Annotated[Path, typer.Argument(help="the directory that the job named", metavar="JOURNAL")],
    target: Annotated[
        Path | None, typer.Argument(help="default: the one target that the journal names", metavar="[PATH]")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """After a crash, look for every acknowledged write.

    A job's journal says which those are. Writes nothing.
    """
    from fathom.journal import print_report, verify_journal

    found = verify_journal(journal, target)
    if as_json:
        _print_json(found.model_dump(by_alias=True))
    print_report(_stderr() if as_json else _stdout(), found)


@app.command(cls=Command)
def report(
    runs: Annotated[list[str], typer.Argument(help="runs to show side by side", metavar="RUN...")],
    out: Annotated[Path | None, typer.Option(help="the HTML file", metavar="FILE")] = None,
    pool: Annotated[
        bool, typer.Option("--pool", help="take runs of one method and target as repeats, not side by side")
    ] = False,
    prices: PriceList = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print the points as CSV instead")] = False,
) -> None:
    """Write one offline HTML report from run directories alone."""
    from fathom.report import run_csv, runs_json, write_html
    from fathom.runs.home import find_run
    from fathom.sizing.files import read_prices

    _one_form(as_json, as_csv)
    paths = [find_run(name) for name in runs]
    if as_json:
        _print_json(runs_json(paths, pool=pool))
    elif as_csv:
        print("".join(run_csv(path) for path in paths), end="")
    else:
        print(write_html(paths, out or paths[0] / "report.html", prices=read_prices(prices), pool=pool))


@app.command(cls=Command)
def devices(as_json: AsJson = False) -> None:
    """What is attached, and why each device is safe or refused."""
    from fathom.targets.discover import devices_json, discover, print_devices

    reports = discover()
    if as_json:
        _print_json(devices_json(reports))
    else:
        print_devices(_stdout(), reports)


@methods_app.callback()
def methods(context: typer.Context) -> None:
    """What can be run."""
    if context.invoked_subcommand is None:
        from fathom.catalog.views import print_methods

        print_methods(_stdout())


@methods_app.command("show", cls=Command)
def methods_show(name: MethodName) -> None:
    """Print a method file, to read or to copy and edit."""
    from fathom.catalog import method_text

    print(method_text(name), end="")


@catalog_app.callback()
def catalog(
    context: typer.Context,
    kind: Annotated[
        Kind | None, typer.Option(help="devices, systems, methods or published", metavar="KIND")
    ] = None,
) -> None:
    """Devices, systems and published results built in."""
    if context.invoked_subcommand is None:
        from fathom.catalog.views import print_catalog

        print_catalog(_stdout(), kind)


@catalog_app.command("show", cls=Command)
def catalog_show(name: Annotated[str, typer.Argument(metavar="NAME")], as_json: AsJson = False) -> None:
    """Print an entry with every parameter, figure and source."""
    from fathom.catalog import entry_json
    from fathom.catalog.views import print_entry

    if as_json:
        _print_json(entry_json(name))
    else:
        print_entry(_stdout(), name)


@app.command(cls=Command)
def validate(
    devices: Annotated[
        list[str] | None, typer.Argument(help="default: every twin of the catalogue", metavar="[DEVICE...]")
    ] = None,
    gate: Annotated[
        bool, typer.Option("--gate", help="exit 4 where a device's median error is above 3 % / 10 %")
    ] = False,
    seed: Seed = 1,
    hosts: Hosts = None,
    shell: Shell = "ssh",
    ray: RayAddress = None,
    local_hosts: LocalHosts = None,
    as_json: AsJson = False,
) -> None:
    """Simulate published results and print how far off twins are.

    Errors of what was fitted and of what was predicted stand apart.
    """
    from fathom.validation.comparison import check_gate, medians
    from fathom.validation.validate import devices_to_validate, validate
    from fathom.validation.views import TrialProgress, print_validation, print_without_twin, validation_json

    chosen = devices_to_validate(devices or [])
    with _workers(hosts, shell, ray, local_hosts) as workers, TrialProgress(_stderr()) as watch:
        rows = validate(chosen, workers, seed, watch=watch)
    if as_json:
        _print_json(validation_json(rows))
    else:
        print_validation(_stdout(), rows)
        if not devices:
            print_without_twin(_stdout(), chosen)
    if gate:
        check_gate(medians(rows))


@app.command(cls=Command)
def calibrate(
    device: Annotated[
        str, typer.Argument(help="a device of the catalogue that has a twin", metavar="DEVICE")
    ],
    write: Annotated[bool, typer.Option("--write", help="put the values into the device's file")] = False,
    seed: Seed = 1,
    hosts: Hosts = None,
    shell: Shell = "ssh",
    ray: RayAddress = None,
    local_hosts: LocalHosts = None,
) -> None:
    """Fit a twin's parameters to its calibration rows, and no others."""
    from fathom.catalog import load_device
    from fathom.validation.calibrate import calibrate, write_values
    from fathom.validation.views import TrialProgress, print_calibration

    fitting = load_device(device)
    with _workers(hosts, shell, ray, local_hosts) as workers, TrialProgress(_stderr()) as watch:
        fitted = calibrate(fitting, workers, seed, watch=watch)
    print_calibration(_stdout(), fitted)
    if write:
        print(f"written to {write_values(fitted)}")


@app.command(cls=Command)
def size(
    needs: Annotated[
        list[str],
        typer.Option(
            "--need",
            help="such as: 64 GB/s read, 5M IOPS write, 500 TB, 20 TB/day for 5 years, 400 W; once per need",
            metavar="NEED",
        ),
    ],
    device: Annotated[str | None, typer.Option(help="a data sheet of the catalogue", metavar="NAME")] = None,
    run: Annotated[
        str | None, typer.Option(help="take what this run of one drive measured", metavar="RUN")
    ] = None,
    derate: Annotated[float, typer.Option(help="share of a drive's rate to count on", metavar="SHARE")] = 1.0,
    link: Annotated[str, typer.Option(help="the host's or GPU's PCIe link", metavar="GENxLANES")] = "5x16",
    as_json: AsJson = False,
) -> None:
    """How many drives a need takes, what binds, does a link carry it."""
    from fathom.errors import UsageError
    from fathom.runs.home import find_run
    from fathom.sizing.drive import rated_drive
    from fathom.sizing.measured import measured_drive
    from fathom.sizing.needs import parse_need
    from fathom.sizing.size import size as size_for
    from fathom.sizing.views import print_sizing, sizing_json

    parsed = [parse_need(text) for text in needs]
    if run is not None:
        drive = measured_drive(find_run(run), parsed)
    elif device is not None:
        drive = rated_drive(device)
    else:
        raise UsageError("no drive to size with", "add --device NAME or --run RUN")
    sizing = size_for(drive, parsed, derate, link)
    if as_json:
        _print_json(sizing_json(sizing))
    else:
        print_sizing(_stdout(), sizing)


@app.command(cls=Command)
def sweep(
    method: MethodName,
    targets: Targets,
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            help="values of a twin's parameter, of a system's drives (drives.KEY) or of a job's key (job.KEY)",
            metavar="KEY=VALUE,...",
        ),
    ],
    quick: Quick = False,
    seed: Seed = 1,
    out: Out = None,
    hosts: Hosts = None,
    shell: Shell = "ssh",
    ray: RayAddress = None,
    local_hosts: LocalHosts = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print the points as CSV instead")] = False,
) -> None:
    """What if: simulate a method for every combination of values.

    The same command goes on where it ended.
    """
    from fathom.method import load_method
    from fathom.runs.home import runs_home
    from fathom.sweep import grid, study, table, views
    from fathom.sweep.page import write_page
    from fathom.validation.views import TrialProgress

    _one_form(as_json, as_csv)
    parsed = load_method(method, quick=quick)
    axes = [grid.parse_axis(text) for text in settings]
    asked = study.Sweep(parsed, targets, axes, grid.combinations(axes, parsed, targets), seed, quick)
    folder = (out or runs_home()) / asked.name
    with _workers(hosts, shell, ray, local_hosts) as workers, TrialProgress(_stderr()) as watch:
        outcomes = study.simulate_all(asked, folder, workers, watch)
    points = table.gather(axes, outcomes)
    table.write_tables(points, folder)
    page = write_page(asked, folder, points, outcomes)
    if as_json:
        _print_json(views.sweep_json(folder, points))
    elif as_csv:
        print((folder / table.CSV).read_text(encoding="utf-8"), end="")
    else:
        views.print_sweep(_stdout(), axes, points, outcomes)
        print(f"report  {page}\ntables  {folder / table.CSV}")
    if failed := [one for one in outcomes if one.error]:
        raise FathomError(
            f"{len(failed)} of {len(outcomes)} points failed; the first: {failed[0].error}",
            "mend or leave out their values; the others are kept",
        )


def _show_prices(asked: bool) -> None:
    if asked:
        from fathom.sizing.files import shipped_prices

        print(shipped_prices(), end="")
        raise typer.Exit


@app.command(cls=Command)
def choose(
    needs: Annotated[Path, typer.Argument(help="a TOML file of needs", metavar="NEEDS.toml")],
    systems: Annotated[
        list[str], typer.Argument(help="systems of the catalogue's published results", metavar="SYSTEM...")
    ],
    prices: PriceList = None,
    run: Annotated[
        list[str],
        typer.Option(
            "--run", help="take a system's rates from this run, once per system", metavar="SYSTEM=RUN"
        ),
    ] = [],  # noqa: B006
    show_prices: Annotated[
        bool,
        typer.Option(
            "--show-prices",
            help="print the relative price list, to copy and edit",
            is_eager=True,
            callback=_show_prices,
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Which system answers the needs best, at what cost, and why."""
    from fathom.sizing.choice_views import choice_json, print_choice
    from fathom.sizing.choose import choose as choose_between
    from fathom.sizing.choose import systems_to_compare
    from fathom.sizing.files import read_needs, read_prices

    stated, listed = read_needs(needs), read_prices(prices)
    choice = choose_between(stated, systems_to_compare(systems, run, stated, listed), listed)
    if as_json:
        _print_json(choice_json(choice))
    else:
        print_choice(_stdout(), choice)


@app.command(cls=Command)
def runs(as_json: AsJson = False) -> None:
    """Every run in the home of all runs."""
    from fathom.runs.home import run_directories
    from fathom.runs.query import runs_table
    from fathom.runs.views import print_runs

    table = runs_table(run_directories())
    if as_json:
        _print_json({"schema": "fathom-run-list/1", "runs": table.to_pylist()})
    else:
        print_runs(_stdout(), table)


@app.command(cls=Command)
def query(
    sql: Annotated[
        str,
        typer.Argument(
            help="one statement over runs, points, streams, intervals, latency, telemetry", metavar="SQL"
        ),
    ],
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="print CSV instead")] = False,
) -> None:
    """SQL over everything ever measured."""
    from fathom.runs.query import query as run_query
    from fathom.runs.views import json_rows, print_csv, print_result

    _one_form(as_json, as_csv)
    table = run_query(sql, left_out=lambda text: print(f"fathom: {text}", file=sys.stderr))
    if as_json:
        _print_json({"schema": "fathom-query/1", "rows": json_rows(table)})
    elif as_csv:
        print_csv(table)
    else:
        print_result(_stdout(), table)


def _measure(method: "Method", targets: "Sequence[Target]", options: "Options") -> "Run":
    from fathom.session import start_run

    with _watched(targets, options):
        return start_run(method, targets, options)


def _repeat(method: "Method", targets: "Sequence[Target]", options: "Options", times: int) -> "list[Run]":
    """Runs the method so many times; what a twin's luck is of differs by the seed."""
    from dataclasses import replace

    finished = [_measure(method, targets, options)]
    for number in range(1, times):
        print(f"repeat {number + 1} of {times}", file=sys.stderr)
        seed = (options.seed + number) % 2**64
        finished.append(_measure(method, targets, replace(options, seed=seed, repeat_of=finished[0].id)))
    return finished


@contextmanager
def _watched(targets: "Sequence[Target]", options: "Options") -> Iterator[None]:
    """Shows progress on stderr, and turns the first Ctrl-C into a clean stop and the second into a hard one."""
    from fathom.progress import LiveObserver

    def interrupt(number: int, frame: object) -> None:
        if options.interrupt.is_set():
            raise KeyboardInterrupt
        options.interrupt.set()
        print("\nstopping: saving what was measured (again to stop at once)", file=sys.stderr)

    before = signal.signal(signal.SIGINT, interrupt)
    observer = LiveObserver(_stderr(), list(targets))
    options.observer = observer
    try:
        with observer:
            yield
    finally:
        signal.signal(signal.SIGINT, before)


def _conclude(
    finished: "Sequence[Run]", as_json: bool, beside: Sequence[Path] = (), prices: "Prices | None" = None
) -> None:
    """Writes the report beside the run, the first of its repeats, with other runs next to it, and prints the result."""
    from fathom.report import print_table, runs_json, write_html

    own = [run.path for run in finished]
    runs = [*own, *beside]
    path = write_html(runs, own[0] / "report.html", prices=prices)
    if as_json:
        _print_json(runs_json(own))
        return
    console = _stdout()
    print_table(console, runs)
    console.print(f"report  {path}", highlight=False, soft_wrap=True)
    for run in finished:
        console.print(f"run     {run.id}", highlight=False, soft_wrap=True)


def _options(
    seed: int,
    destroy: Sequence[str],
    out: Path | None,
    power: str | None = None,
    site: "Site | None" = None,
) -> "Options":
    from fathom.session import Options
    from fathom.site import ThisMachine

    return Options(
        seed=seed,
        destroy=tuple(destroy),
        out=out,
        power=power,
        interrupt=Event(),
        site=site or ThisMachine(),
    )


@contextmanager
def _site(hosts: Path | None, shell: str, ray: str | None, local_hosts: int | None) -> Iterator["Site"]:
    """Where the load comes from; hosts live as long as the `with`."""
    if hosts is ray is local_hosts is None:
        from fathom.site import ThisMachine

        yield ThisMachine()
        return
    from fathom.fleet.hosts import fleet_of

    with _nodes(hosts, shell, ray, local_hosts) as nodes:
        yield fleet_of(nodes)


@contextmanager
def _workers(hosts: Path | None, shell: str, ray: str | None, local_hosts: int | None) -> Iterator["Workers"]:
    """Where simulations run; hosts live as long as the `with`."""
    if hosts is ray is local_hosts is None:
        from fathom.workers import local_workers

        with local_workers() as workers:
            yield workers
        return
    from fathom.fleet.workers import RayWorkers

    with _nodes(hosts, shell, ray, local_hosts):
        yield RayWorkers()


@contextmanager
def _nodes(hosts: Path | None, shell: str, ray: str | None, local_hosts: int | None) -> Iterator["Nodes"]:
    """Brings the hosts of one of the options up."""
    from fathom.errors import UsageError
    from fathom.fleet.hosts import hosts_of_file, local_nodes, ray_cluster

    if sum(given is not None for given in (hosts, ray, local_hosts)) > 1:
        raise UsageError("--hosts, --ray and --local-hosts exclude each other", "give one of them")
    if hosts is not None:
        found = hosts_of_file(hosts, shell)
    elif ray is not None:
        found = ray_cluster(ray)
    else:
        found = local_nodes(local_hosts or 0)
    print("bringing the hosts up: about ten seconds for each", file=sys.stderr)
    # Ray prints what its nodes have to say to standard output, which is the result's.
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere), found as nodes:
        yield nodes


def _bytes(size: str | None) -> int | None:
    if size is None:
        return None
    from fathom import _core
    from fathom.errors import UsageError

    try:
        return _core.parse_size_bytes(size)
    except _core.ParseError as error:
        raise UsageError(f"--size: {error}") from error


def _print_json(document: object) -> None:
    import json

    print(json.dumps(document, indent=1, allow_nan=False, default=str))


def _one_form(as_json: bool, as_csv: bool) -> None:
    if as_json and as_csv:
        from fathom.errors import UsageError

        raise UsageError("--json and --csv exclude each other", "give one of them")


def _stdout() -> "Console":
    """Standard output; into a file or a pipe tables are as wide as they need to be."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPED_COLUMNS)


def _stderr() -> "Console":
    from rich.console import Console

    return Console(stderr=True)


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
