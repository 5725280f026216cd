"""Fathom measures storage as the best public tests do, explains the result, and predicts what you do not own.

```python
import fathom

run = fathom.run("four-corners", targets=["twin:samsung-pm9a3-7.68tb"], quick=True)
print(run.to_pandas("points")[["workload", "op", "iops", "p99_us"]])
```
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fathom.api import (
        add_ensemble,
        compare_runs,
        export_method,
        export_results,
        import_method,
        import_results,
        open_run,
        plan_run,
        query,
        repeat_run,
        resume_run,
        review,
        run,
        run_in_power_states,
        run_sweep,
        validate,
        write_report,
    )
    from fathom.plan.replay import Replay
    from fathom.runs.reader import Run

__version__ = "0.1.0"
__all__ = [
    "Replay",
    "Run",
    "__version__",
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
_FUNCTIONS = frozenset(__all__) - {"Replay", "Run", "__version__"}


def __dir__() -> list[str]:
    """Returns the interface, for completion before its first use."""
    return __all__


def __getattr__(name: str) -> object:
    """Imports the interface on first use, so that `fathom --help` does not wait for it."""
    if name in _FUNCTIONS:
        from fathom import api

        return getattr(api, name)
    if name == "Replay":
        from fathom.plan.replay import Replay

        return Replay
    if name == "Run":
        from fathom.runs.reader import Run

        return Run
    raise AttributeError(f"module 'fathom' has no attribute {name!r}")
