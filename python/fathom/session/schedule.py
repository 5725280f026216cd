"""Which step comes next on a target: what is finished, what is not needed, where a curve's point lies, when rounds end.

Uses only the finished steps in the run directory, so a resumed run takes the same steps. Runs nothing.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from fathom.method.curve import figures, open_job, rate_of
from fathom.method.method import Method, Step
from fathom.method.offered import offered_job
from fathom.method.rounds import Round, figure
from fathom.runs.spool import Row
from fathom.runs.store import RunStore, StepKey
from fathom.targets.target import Target

Part = tuple[str | None, list[StepKey]]
"""A bench, and steps that a twin with that bench begins fresh."""


class Schedule:
    """A method's steps on one target; `index` is its place among the targets of the run."""

    def __init__(self, store: RunStore, method: Method, target: Target, index: int) -> None:
        self._store = store
        self._steps = method.steps
        self.target = target
        self.keys = [StepKey(index, number, step.name) for number, step in method.steps_on(target)]
        # What finished steps came to: each point of a curve asks for all before it.
        self._read: dict[StepKey, list[Row]] = {}
        # After which round each of the rounds was judged steady.
        self._ended: dict[str, int] = {}

    def step(self, key: StepKey) -> Step:
        """Returns the step as the method has it."""
        return self._steps[key.number - 1]

    def finished(self, key: StepKey) -> bool:
        """Returns whether the step has ended, and not by an interrupt."""
        outcome = self._store.outcome(key)
        return outcome is not None and outcome.status == "complete"

    @property
    def all_finished(self) -> bool:
        """Whether all steps are finished."""
        return all(self.finished(key) for key in self.keys)

    @property
    def ended_early(self) -> list[str]:
        """The names of steps that ended early."""
        outcomes = ((key.name, self._store.outcome(key)) for key in self.keys)
        return [name for name, outcome in outcomes if outcome is not None and outcome.status == "partial"]

    def fresh_parts(self, *, afresh: bool) -> list[Part]:
        """Returns the steps in parts that a twin begins fresh, with their bench: where it changes, and where a fill
        says so.

        Without `afresh` only the bench counts: the twin has no state that a fresh one would lack.
        """
        parts: list[Part] = []
        for key in self.keys:
            step = self.step(key)
            if not parts or parts[-1][0] != step.bench or (afresh and step.afresh):
                parts.append((step.bench, []))
            parts[-1][1].append(key)
        return parts

    def chains(self, parts: Sequence[Part]) -> list[list[Part]]:
        """Returns the parts in chains that need nothing of each other.

        A step that looks back to one of an earlier part is in that one's chain. Chains without steps on copies come
        first. No idle thread can help with them, and a long one would be left over at the end.
        """
        place_of = {key.name: place for place, (_, keys) in enumerate(parts) for key in keys}
        chain_of = list(range(len(parts)))
        for place, (_, keys) in enumerate(parts):
            for name in {name for key in keys for name in _looks_back_to(self.step(key))}:
                joined = {chain_of[place], chain_of[place_of.get(name, place)]}
                chain_of = [min(joined) if chain in joined else chain for chain in chain_of]
        chains = [
            [part for part, own in zip(parts, chain_of, strict=True) if own == chain]
            for chain in sorted(set(chain_of))
        ]
        return sorted(chains, key=self._may_be_shared)

    def _may_be_shared(self, chain: Sequence[Part]) -> bool:
        """Returns whether idle threads can help with a chain."""
        return any(self.step(key).on_copy for _, keys in chain for key in keys)

    def side_by_side(self, keys: Sequence[StepKey]) -> list[list[StepKey]]:
        """Returns the steps in groups that follow each other. Steps on copies are in one group while none of them needs
        a result of another. Any other step is a group of its own.
        """
        groups: list[list[StepKey]] = []
        for key in keys:
            step = self.step(key)
            beside = groups[-1] if groups and step.on_copy and self.step(groups[-1][0]).on_copy else []
            searches = step.place is not None and step.place.share is None
            if not beside or searches or {one.name for one in beside} & {*_looks_back_to(step)}:
                groups.append([key])
            else:
                beside.append(key)
        return groups

    def ends_overwritten(self, keys: Sequence[StepKey]) -> bool:
        """Returns whether all that is measured finds a drive overwritten at random. Then nothing is purged or writes in
        order, except fills that random writes settle before anything is measured.
        """
        at_random = True
        for step in map(self.step, keys):
            in_order = step.job.destructive and step.job.pattern.kind == "sequential"
            if step.kind == "fill":
                at_random = at_random and not in_order
            elif step.kind == "precondition" and step.job.destructive and not in_order:
                at_random = True
            elif in_order or not at_random:
                return False
        return True

    def verdicts(self) -> dict[tuple[str, str], str]:
        """Returns the verdicts on preconditions, by target and workload."""
        ended = [
            (self.step(key).workload, self._store.outcome(key))
            for key in self.keys
            if self.step(key).kind == "precondition"
        ]
        return {(self.target.name, workload): outcome.reason for workload, outcome in ended if outcome}

    def aimed(self, key: StepKey, step: Step, loads: int) -> Step | None:
        """Returns the step with its rate or positions, where these follow from earlier steps; otherwise as it is. None
        where the search that it belongs to has ended. Each of the `loads` that run at once is offered its share of the
        rate, and has moved its share of the bytes.
        """
        if step.continues:
            step = replace(step, job=step.job.continued(self._moved_before(key, loads)))
        if offered := step.offered:
            rate_iops = offered.share * self._iops(offered.of)
            return replace(step, job=offered_job(step.job, offered, rate_iops / loads))
        place = step.place
        if place is None:
            return step
        # A search looks back to every point; a point looks back to the maximum alone.
        of_curve = [
            earlier
            for earlier in self.keys
            if earlier.number < key.number
            if (other := self.step(earlier)).name == place.curve
            or (place.share is None and other.place and other.place.curve == place.curve)
        ]
        curve = next(curve for earlier in of_curve if (curve := self.step(earlier).curve))
        measured = [figures(rows, curve.arrival) for earlier in of_curve if (rows := self._points(earlier))]
        rate_iops = rate_of(place, curve, measured)
        if rate_iops is None:
            return None
        return replace(step, job=open_job(step.job, curve, rate_iops / loads))

    def _moved_before(self, key: StepKey, loads: int) -> dict[str, int]:
        """Returns what each stream of one of `loads` loads moved in the steps that the step continues."""
        moved: Counter[str] = Counter()
        place = self.keys.index(key)
        while self.step(self.keys[place]).continues:
            place -= 1
            if outcome := self._store.outcome(self.keys[place]):
                moved.update(outcome.moved_bytes)
        return {name: total // loads for name, total in moved.items()}

    def measured(self, name: str) -> bool:
        """Returns whether the step of that name has results: it was not left out, and completed something."""
        return self._iops(name) > 0

    def rounds_ended(self, key: StepKey, place: Round) -> bool:
        """Returns whether an earlier round was the last."""
        if place.of in self._ended:
            return self._ended[place.of] < place.number
        before = place.number - 1
        if before < place.window or place.step != self._first_of_round(key, place):
            return False
        tracked = [self._series(place, step, before) for step in place.track]
        if not place.steady([series for series in tracked if series]):
            return False
        self._ended[place.of] = before
        return True

    def _points(self, key: StepKey) -> list[Row]:
        """Returns the rows of `points` of a finished step, without those of parts."""
        if key not in self._read:
            self._read[key] = [row for row in self._store.points(key) if row["target"] == self.target.name]
        return self._read[key]

    def _iops(self, name: str) -> float:
        """Returns the IOPS of the step of that name; 0 where it was left out."""
        rows = next(self._points(key) for key in self.keys if key.name == name)
        return sum(cast("float | None", row["iops"]) or 0.0 for row in rows)

    def _first_of_round(self, key: StepKey, place: Round) -> str:
        number = key.number
        while number > 1:
            earlier = self._steps[number - 2].round
            if earlier is None or (earlier.of, earlier.number) != (place.of, place.number):
                break
            number -= 1
        first = self._steps[number - 1].round
        return first.step if first else place.step

    def _series(self, place: Round, step: str, before: int) -> list[float]:
        """Returns the figures of a tracked step, round by round; empty for a step that does not apply to the target."""
        names = {place.name(number, step) for number in range(before - place.window + 1, before + 1)}
        found = [figure(self._points(key), place.metric) for key in self.keys if key.name in names]
        return [value for value in found if value is not None]


def _looks_back_to(step: Step) -> list[str]:
    """Returns the names of earlier steps whose results the step needs, and of the rounds that it is one of."""
    of_offered = [step.offered.of] if step.offered else []
    of_curve = [step.place.curve] if step.place else []
    of_rounds = (
        [step.round.name(1, one) for one in (step.round.step, *step.round.track)] if step.round else []
    )
    return [*of_offered, *of_curve, *of_rounds]
