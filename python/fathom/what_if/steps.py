"""What the page runs: the steps of the method `what-if` or `what-if-system`, with the seeds that a run gives them."""

from typing import TYPE_CHECKING

from fathom.load.seeds import step_seed
from fathom.method.job import document_of
from fathom.method.method import Method, Step, load_method

if TYPE_CHECKING:
    from pydantic import JsonValue

OF_DRIVES, OF_SYSTEMS = "what-if", "what-if-system"
"""The methods: of single SSDs, and of systems."""
SEED = 1
"""The seed of a run that names none. A drive that is alone in its run has it too."""


def steps(method: Method) -> "list[dict[str, JsonValue]]":
    """Returns the steps as the page's worker takes them; a seed is text, because numbers there have 53 bits."""
    return [_step(number, step) for number, step in enumerate(method.steps, 1)]


def of_drives() -> Method:
    """Returns the method of single SSDs."""
    return load_method(OF_DRIVES)


def of_systems() -> Method:
    """Returns the method of systems."""
    return load_method(OF_SYSTEMS)


def _step(number: int, step: Step) -> "dict[str, JsonValue]":
    return {
        "name": step.name,
        "measured": not step.prepares,
        "depth": step.job.threads * step.job.iodepth,
        "seed": str(step_seed(SEED, number)),
        "job": document_of(step.job),
    }
