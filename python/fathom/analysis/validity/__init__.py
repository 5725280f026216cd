"""Validity notes: what a reader has to know before trusting a figure, each with its own figure and what to do next.

A rule is a small function from a run to notes; it reads what the run recorded and guesses nothing. What a run did not
record is not judged. Thresholds come from the shared statistics in docs/explanation/statistics.md.
"""

from fathom.analysis.validity import (
    of_curves,
    of_data,
    of_device,
    of_figures,
    of_hosts,
    of_run,
    of_twins,
    of_waf,
)
from fathom.analysis.validity.note import Level, Note, Rule
from fathom.analysis.validity.of_device import link_mbps
from fathom.analysis.view import RunView

__all__ = ["RULES", "Level", "Note", "Rule", "link_mbps", "notes"]

RULES: tuple[Rule, ...] = (
    of_figures.errors,
    of_device.beyond_link,
    of_device.cached,
    of_run.unfinished,
    of_run.quick,
    of_figures.not_steady,
    of_figures.level_change,
    of_curves.unsettled_maximum,
    of_waf.unsettled_waf,
    of_figures.depth,
    of_figures.little,
    of_hosts.generator_cpu,
    of_hosts.client_limits,
    of_hosts.stragglers,
    of_hosts.cpu_steal,
    of_device.foreign,
    of_device.throttled,
    of_device.link,
    of_hosts.governor,
    of_hosts.numa,
    of_data.unmapped,
    of_hosts.virtual_disk,
    of_data.small_region,
    of_data.cut_region,
    of_run.backend,
    of_data.compressible,
    of_figures.unsustained,
    of_figures.behind_its_share,
    of_twins.simulated_slice,
    of_twins.early,
    of_figures.small_n,
    of_run.not_measured,
)
"""Every rule, in the order in which notes of one level are shown."""


def notes(view: RunView) -> list[Note]:
    """Every note on the run, the gravest first; notes of one level in the order of the rules."""
    order = ("error", "warning", "info")
    return sorted((note for rule in RULES for note in rule(view)), key=lambda note: order.index(note.level))
