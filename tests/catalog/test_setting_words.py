"""Settings of twins in the words of the field."""

import pytest

from fathom.catalog.setting_words import in_words
from fathom.load.resolve import resolve_targets
from fathom.what_if.page import title_of

PM9A3 = "samsung-pm9a3-7.68tb"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("settled_share=1", "settled"),
        ("settled_share=1.0", "settled"),
        ("settled_share=0", "fresh"),
        ("settled_share=0.5", "50 % settled"),
        ("op=0.28", "28 % over-provisioning"),
        ("over_provisioning=0.125", "12.5 % over-provisioning"),
        ("member=3", "member 3 of its ensemble"),
        ("program_us=900", "program 900 us"),
        ("write_buffer_bytes=1073741824", "write buffer 1 GiB"),
        ("program_suspend=false", "without program suspend"),
        ("gc_free_superblocks=4", "garbage collection free superblocks 4"),
        ("channel_mts=2400", "channel 2400 MT/s"),
        ("channels=8", "channels 8"),
        ("tracks=drive-managed", "tracks drive-managed"),
        ("micron-9400-pro-7.68tb.count=24", "24 x micron-9400-pro-7.68tb"),
        ("drives.op=0.2", "each drive 20 % over-provisioning"),
    ],
)
def test_a_setting_is_said_as_people_say_it(setting: str, words: str) -> None:
    assert in_words(setting) == words


def test_a_run_and_the_page_with_sliders_call_a_twin_the_same() -> None:
    name = f"twin:{PM9A3}?settled_share=1,op=0.28"
    [target] = resolve_targets([name])
    assert target.label == title_of(name) == "Samsung PM9A3 7.68TB (settled, 28 % over-provisioning)"
