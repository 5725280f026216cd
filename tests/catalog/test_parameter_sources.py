"""Where the parameters of the catalogue's devices come from: each says it, in the way that its basis asks for.

That a source is there at all is the schema's rule (`test_refusals.py`). Here it has to be one that a reader can follow.
"""

import re

import pytest

from fathom.catalog import entries, load_device
from fathom.catalog.models.base import Parameter

DOCUMENTS = (
    r"AnandTech|StorageReview|ISSCC|NVMeVirt|ZRAID|golem\.de|github\.com|Western Digital|Micron|DIAWAY|Serial ATA|FADU"
    r"|Samsung PM9A3|Tom's Hardware|ComputerBase|OEM specification|btrfs documentation|WekaFS"
    r"|data sheet, published/[a-z0-9.-]+\.toml"
)
"""Names of the documents that published parameters are taken from."""
LEAST_WORDS = 5
"""An assumption in fewer words gives no reason."""


def complaint(parameter: Parameter) -> str | None:
    """What a reader misses in the source; None if nothing. Calibrated ones: `test_published.py`."""
    source = parameter.source
    if parameter.basis == "published" and not re.search(DOCUMENTS, source):
        return f"names no document: {source}"
    if parameter.basis == "derived" and not re.search(r"\d", source):
        return f"shows no figure that the value follows from: {source}"
    if parameter.basis == "assumed" and len(source.split()) < LEAST_WORDS:
        return f"gives no reason: {source}"
    return None


@pytest.mark.parametrize("name", [entry.name for entry in entries("devices") if entry.shipped])
def test_every_parameter_names_its_document_shows_its_derivation_or_gives_its_reason(name: str) -> None:
    device = load_device(name)
    assert device.twin is not None
    complaints = {key: complaint(parameter) for key, parameter in device.twin.parameters.items()}
    assert {key: text for key, text in complaints.items() if text} == {}


@pytest.mark.parametrize(
    ("basis", "poor", "good"),
    [
        ("published", "the data sheet", "AnandTech 8319, page 2: 1.2 W idle"),
        ("derived", "from the rated rate", "rated 450 MB/s: 4096 B / 450 MB/s"),
        ("assumed", "usual", "usual for the class; not published"),
    ],
)
def test_a_poor_source_is_found_and_a_good_one_passes(basis: str, poor: str, good: str) -> None:
    found, none = (
        complaint(Parameter.model_validate({"value": 1, "basis": basis, "source": source}))
        for source in (poor, good)
    )
    assert found is not None
    assert none is None
