"""Steps by the names that tables have for them."""

import pytest

from fathom.errors import UsageError
from fathom.method.method import MOST_IN_NAME, parse_method
from fathom.method.step_names import called

STEPS = {
    "reads": {"name": "reads", "label": "4 KiB random read"},
    "iops.03.rnd-4kib-r0": {
        "label": "random, 4T/32Q",
        "round": {"of": "iops", "step": "rnd-4kib-r0", "number": 3},
    },
}


@pytest.mark.parametrize(
    ("step", "name"),
    [
        ("reads", "4 KiB random read"),
        ("reads@60", "4 KiB random read: 60 % of its maximum"),
        ("reads@slo-2", "4 KiB random read: point 2 of the search"),
        ("iops.03.rnd-4kib-r0", "random, 4T/32Q, round 3"),
        ("untold", "untold"),
    ],
)
def test_a_step_is_called_what_tables_call_it(step: str, name: str) -> None:
    assert called(step, STEPS) == name


def test_a_step_of_all_rounds_is_called_without_the_number_of_one() -> None:
    assert called("iops.03.rnd-4kib-r0", STEPS, any_round=True) == "random, 4T/32Q"


@pytest.mark.parametrize("of", ["method", "step"])
def test_a_name_that_no_folder_could_have_is_refused_before_a_run(of: str) -> None:
    name = "n" * (MOST_IN_NAME + 1)
    names = {"method": "usual", "step": "usual"} | {of: name}
    text = (
        f'schema = "fathom-method/1"\nname = "{names["method"]}"\n[[steps]]\nname = "{names["step"]}"\n'
        'workload = "w"\n[steps.job]\nmix = "read"\nblock = "4KiB"\npattern = "uniform"\n'
        'load = { iodepth = 1 }\nuntil = { time = "1s" }\n'
    )
    with pytest.raises(UsageError, match=f"the name {name} has {MOST_IN_NAME + 1} characters"):
        parse_method(text, "m.toml")
    parse_method(text.replace(name, name[:-1]), "m.toml")
