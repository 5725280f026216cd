"""Validity notes: what a reader must know before trusting a figure, with a number and the next step. A rule is a small
function from a run to notes. It reads only the run's record; what is not recorded is not judged. Thresholds come from
the shared statistics in docs/explanation/statistics.md.
"""

from collections.abc import Sequence
from dataclasses import replace

from fathom.analysis.run_view import RunView
from fathom.analysis.validity import (
    of_block_layer,
    of_curves,
    of_data,
    of_device,
    of_disks,
    of_figures,
    of_hosts,
    of_run,
    of_twins,
    of_waf,
)
from fathom.analysis.validity.note import Level, Note, Rule
from fathom.analysis.validity.of_device import link_mbps

__all__ = ["RULES", "Level", "Note", "Rule", "link_mbps", "notes"]

RULES: tuple[Rule, ...] = (
    of_figures.errors,
    of_figures.hung,
    of_device.beyond_link,
    of_device.cached,
    of_run.unfinished,
    of_run.quick,
    of_run.doubtful_times,
    of_figures.stopped,
    of_figures.brief,
    of_figures.not_steady,
    of_figures.level_change,
    of_curves.unsettled_maximum,
    of_waf.unsettled_waf,
    of_disks.maybe_shingled,
    of_figures.depth,
    of_figures.little,
    of_figures.mix_by_files,
    of_hosts.generator_cpu,
    of_hosts.client_limits,
    of_hosts.absent_hosts,
    of_hosts.stragglers,
    of_hosts.cpu_steal,
    of_device.foreign,
    of_device.throttled,
    of_device.path_down,
    of_device.controller_reset,
    of_device.array_state,
    of_device.link,
    of_block_layer.io_limit,
    of_block_layer.io_scheduler,
    of_block_layer.split_io,
    of_hosts.governor,
    of_hosts.power_state,
    of_hosts.numa,
    of_data.unmapped,
    of_hosts.virtual_disk,
    of_data.small_region,
    of_data.cut_region,
    of_data.crowded_slice,
    of_run.backend,
    of_data.compressible,
    of_figures.unsustained,
    of_figures.behind_its_share,
    of_twins.simulated_slice,
    of_twins.data_sheet_alone,
    of_twins.missed_ratings,
    of_twins.refuted_range,
    of_twins.early,
    of_figures.small_n,
    of_run.not_measured,
)
"""Every rule, in the order in which notes of one level are shown."""


SHORT_OF_CORES = ("client-limits", "generator-cpu", of_run.WAITS)
"""Rules that each show that the load generator's machine has no processor time left."""


def notes(view: RunView) -> list[Note]:
    """Returns every note on the run, the gravest first; notes of one level in the order of the rules."""
    order = ("error", "warning", "info")
    found = _of_one_cause([note for rule in RULES for note in rule(view)], view)
    return sorted(found, key=lambda note: order.index(note.level))


def _of_one_cause(found: Sequence[Note], view: RunView) -> list[Note]:
    """Returns the notes, one per cause: a target whose load generator is short of cores gets a single note."""
    short: dict[str | None, list[Note]] = {}
    for note in found:
        if note.rule in SHORT_OF_CORES:
            short.setdefault(note.target, []).append(note)
    heads = {id(own[0]): own for own in short.values()}
    rest = {id(note) for own in short.values() for note in own[1:]}
    return [_joined(heads.get(id(note), [note]), view) for note in found if id(note) not in rest]


def _joined(found: Sequence[Note], view: RunView) -> Note:
    first, *others = found
    if not others:
        return first
    where = ["" if note.step == first.step else f"in {view.called(note.step or '')}, " for note in others]
    further = "; ".join(f"{place}{note.text}" for place, note in zip(where, others, strict=True))
    told = f"{first.text}. From the same cause: {further}"
    do = "; ".join(dict.fromkeys(note.next_step for note in reversed(found) if note.next_step))
    return replace(first, text=told, next_step=do)
