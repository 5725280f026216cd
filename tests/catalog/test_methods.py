"""The methods of the catalogue as they are read by people."""

import re
from pathlib import Path

import pytest

from fathom import catalog
from small_trace import method_named


@pytest.mark.parametrize("name", catalog.method_names())
def test_no_label_names_a_time_or_a_volume_that_a_shortened_run_does_not_take(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    labels = [step.label for step in method_named(name, tmp_path).steps]
    assert labels
    assert [label for label in labels if re.search(r"\d ?(s|min|h)\b|capacity", label)] == []
