"""What the page runs: the steps of the method `what-if`, with the seeds that a run of it gives them."""

from typing import TYPE_CHECKING

from fathom.load.seeds import step_seed
from fathom.method.job import document_of
from fathom.method.method import Method, Step, load_method

if TYPE_CHECKING:
    from pydantic import JsonValue

METHOD = "what-if"
WARM_UP = "warm-up"
"""The workload of the step that is not for reading."""
SEED = 1
"""The seed of a run that names none. A drive that is alone in its run has it too."""


def method() -> Method:
    """Returns the method."""
    return load_method(METHOD)


def steps() -> "list[dict[str, JsonValue]]":
    """Returns the steps as the page's worker takes them; a seed is text, because numbers there have 53 bits."""
    return [_step(number, step) for number, step in enumerate(method().steps, 1)]


def _step(number: int, step: Step) -> "dict[str, JsonValue]":
    return {
        "name": step.name,
        "measured": step.workload != WARM_UP,
        "depth": step.job.threads * step.job.iodepth,
        "seed": str(step_seed(SEED, number)),
        "job": document_of(step.job),
    }
