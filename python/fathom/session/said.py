"""What is said of targets while they run, for the notes: kept in the journal, so that a resumed run knows it too."""

from collections.abc import Mapping, Sequence

from fathom.analysis.view import Remark
from fathom.remarks import Fact, fact_of, in_words
from fathom.runs.journal import read_journal
from fathom.runs.store import RunStore, StepKey


class Said:
    """Remarks on steps, and what nobody can sample, by target. Begins with what the journal has."""

    def __init__(self, store: RunStore) -> None:
        self._store = store
        self.remarks: list[Remark] = []
        self.not_measured: dict[str, list[str]] = {}
        self._setups: dict[str, Mapping[str, str]] = {}
        for event in read_journal(store.path):
            if event["event"] == "remark":
                self.remarks.append(Remark(str(event["target"]), str(event["step"]), fact_of(event)))
            elif event["event"] == "not-measured":
                self.not_measured.setdefault(str(event["target"]), []).append(str(event["text"]))

    def remark(self, key: StepKey, target: str, fact: Fact) -> None:
        """Keeps what a backend says of a step, or why it is left out: with its code and values, and in words."""
        self.remarks.append(Remark(target, key.name, fact))
        self._store.journal("remark", key, **(fact.model_dump(mode="json") | {"text": in_words(fact)}))

    def setup(self, key: StepKey, target: str, setup: Mapping[str, str]) -> None:
        """How a real load was made, by aspect; only where it is not as in the target's step before."""
        if setup and setup != self._setups.get(target):
            self._setups[target] = setup
            self._store.journal("setup", key, setup=dict(setup))

    def absent(self, target: str, texts: Sequence[str]) -> None:
        """What cannot be sampled there; only what is new is kept."""
        known = self.not_measured.setdefault(target, [])
        for text in texts:
            if text not in known:
                known.append(text)
                self._store.journal("not-measured", target=target, text=text)
