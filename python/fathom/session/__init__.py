"""Runs a method on its targets: safety, journal, steps in order, resume. Draws nothing, computes no statistics.

Read in this order. `begin` claims targets and opens the run directory. `session` runs the method on all of them and
closes the run. `target_run` takes one target through its steps; `schedule` says which step comes next. `step_run` runs
one and records it; `stepper` follows its load.
"""

from fathom.session.begin import repeat_run, resume_run, start_run
from fathom.session.options import Observer, Options, SilentObserver

__all__ = ["Observer", "Options", "SilentObserver", "repeat_run", "resume_run", "start_run"]
