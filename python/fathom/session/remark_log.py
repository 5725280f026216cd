"""Remarks on targets during a run, for the notes. The journal keeps them, so that a resumed run has them too."""

from collections.abc import Mapping, Sequence
from threading import Lock

from fathom.analysis.run_view import Remark, remarks_of
from fathom.runs.event_log import read_events
from fathom.runs.gpu import Gpu
from fathom.runs.remarks import Fact, Words, in_words
from fathom.runs.store import RunStore, StepKey
from fathom.targets.not_measured import NotMeasured

MEASURED_AGAIN = Words(text="its files were damaged; the resumed run measured it again")


class RemarkLog:
    """Remarks on steps, and what cannot be sampled, by target. Begins with the journal's."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self._lock = Lock()
        events = read_events(store.path)
        self.remarks = remarks_of(events)
        self.not_measured: dict[str, list[NotMeasured]] = {}
        self._setups: dict[str, Mapping[str, str]] = {}
        for event in events:
            if event["event"] == "step-set-aside":
                self._add(Remark(str(event["target"]), str(event["step"]), MEASURED_AGAIN))
            elif event["event"] == "not-measured":
                self.not_measured.setdefault(str(event["target"]), []).append(NotMeasured.from_event(event))

    def step_started(self, key: StepKey, target: str) -> None:
        """Drops the remarks on an attempt that did not end; the attempt that begins logs its own."""
        with self._lock:
            self.remarks = [
                one
                for one in self.remarks
                if (one.target, one.step) != (target, key.name) or one.fact == MEASURED_AGAIN
            ]

    def remark(self, key: StepKey, target: str, fact: Fact) -> None:
        """Logs a backend's remark on a step, or why the step is left out: code, values and words."""
        self._add(Remark(target, key.name, fact))
        self._store.log_event("remark", key, **(fact.model_dump(mode="json") | {"text": in_words(fact)}))

    def setup(self, key: StepKey, target: str, setup: Mapping[str, str], gpu: Gpu | None = None) -> None:
        """Logs how a real load was made, by aspect, and the GPU in which its reads ended.

        It logs only changes since the target's step before.
        """
        if setup and setup != self._setups.get(target):
            self._setups[target] = setup
            ends_in = {} if gpu is None else {"gpu": gpu.model_dump()}
            self._store.log_event("setup", key, setup=dict(setup), **ends_in)

    def log_not_measured(self, target: str, found: Sequence[NotMeasured]) -> None:
        """Logs what cannot be sampled on a target, if it is new. It replaces the words of earlier versions."""
        known = [one for one in self.not_measured.get(target, []) if one.quantity]
        self.not_measured[target] = known
        for one in found:
            if one not in known:
                known.append(one)
                self._store.log_event("not-measured", None, target=target, **one.to_event())

    def _add(self, remark: Remark) -> None:
        """Logs a remark once: the step may run again after a crash."""
        with self._lock:
            if remark not in self.remarks:
                self.remarks.append(remark)
