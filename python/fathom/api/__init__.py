"""The Python interface: all that the commands do with methods, targets and runs. Prints nothing."""

from fathom.api.measure import plan_run, repeat_run, resume_run, review, run, run_in_power_states
from fathom.api.methods import Translated, export_method, import_method
from fathom.api.options import HostOptions, ReviewOptions, RunOptions, SessionOptions, Watch
from fathom.api.results import compare_runs, export_results, import_results, open_run, query, write_report
from fathom.api.simulate import add_ensemble, run_sweep, validate

__all__ = [
    "HostOptions",
    "ReviewOptions",
    "RunOptions",
    "SessionOptions",
    "Translated",
    "Watch",
    "add_ensemble",
    "compare_runs",
    "export_method",
    "export_results",
    "import_method",
    "import_results",
    "open_run",
    "plan_run",
    "query",
    "repeat_run",
    "resume_run",
    "review",
    "run",
    "run_in_power_states",
    "run_sweep",
    "validate",
    "write_report",
]
