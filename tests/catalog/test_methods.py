"""The methods of the catalogue as they are read by people."""

import re

import pytest

from fathom import catalog
from fathom.method.method import load_method


@pytest.mark.parametrize("name", catalog.method_names())
def test_no_label_names_a_time_or_a_volume_that_a_shortened_run_does_not_take(name: str) -> None:
    labels = [step.label for step in load_method(name).steps]
    assert labels
    assert [label for label in labels if re.search(r"\d ?(s|min|h)\b|capacity", label)] == []
