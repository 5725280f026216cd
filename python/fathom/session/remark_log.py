"""What is said of targets while they run, for the notes: kept in the journal, so that a resumed run knows it too."""

from collections.abc import Mapping, Sequence

from fathom.analysis.run_view import Remark
from fathom.runs.event_log import read_events
from fathom.runs.remarks import Fact, Words, fact_of, in_words
from fathom.runs.store import RunStore, StepKey
from fathom.targets.absent import Absent

MEASURED_AGAIN = Words(text="its files were damaged; the resumed run measured it again")


class RemarkLog:
    """Remarks on steps, and what nobody can sample, by target. Begins with what the journal has."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self.remarks: list[Remark] = []
        self.not_measured: dict[str, list[Absent]] = {}
        self._setups: dict[str, Mapping[str, str]] = {}
        again: list[Remark] = []
        for event in read_events(store.path):
            if event["event"] == "remark":
                self._add(Remark(str(event["target"]), str(event["step"]), fact_of(event)))
            elif event["event"] == "step-start":
                self._forget(str(event["target"]), str(event["step"]))
            elif event["event"] == "step-set-aside":
                again.append(Remark(str(event["target"]), str(event["step"]), MEASURED_AGAIN))
            elif event["event"] == "not-measured":
                self.not_measured.setdefault(str(event["target"]), []).append(Absent.from_event(event))
        for remark in again:
            self._add(remark)

    def remark(self, key: StepKey, target: str, fact: Fact) -> None:
        """Keeps what a backend says of a step, or why it is left out: with its code and values, and in words."""
        self._add(Remark(target, key.name, fact))
        self._store.log_event("remark", key, **(fact.model_dump(mode="json") | {"text": in_words(fact)}))

    def setup(self, key: StepKey, target: str, setup: Mapping[str, str]) -> None:
        """Records how a real load was made, by aspect; only where it is not as in the target's step before."""
        if setup and setup != self._setups.get(target):
            self._setups[target] = setup
            self._store.log_event("setup", key, setup=dict(setup))

    def absent(self, target: str, found: Sequence[Absent]) -> None:
        """Records what cannot be sampled there; only what is new is kept. It replaces words of earlier versions."""
        known = [one for one in self.not_measured.get(target, []) if one.quantity]
        self.not_measured[target] = known
        for one in found:
            if one not in known:
                known.append(one)
                self._store.log_event("not-measured", None, target=target, **one.to_event())

    def _add(self, remark: Remark) -> None:
        """Once: a crash may have come between a remark and the end of its step."""
        if remark not in self.remarks:
            self.remarks.append(remark)

    def _forget(self, target: str, step: str) -> None:
        """Drops what was said of an attempt that did not end: the next one says its own."""
        self.remarks = [one for one in self.remarks if (one.target, one.step) != (target, step)]
