"""A wrong catalogue file is refused with its line, what was expected and the nearest valid word."""

import tomllib
from typing import Any

import pytest
from catalog_samples import DEVICE, PUBLISHED, Write
from hypothesis import given
from hypothesis import strategies as st

from fathom import catalog
from fathom.catalog.positions import key_lines
from fathom.catalog.sensitivity import load_sensitivity
from fathom.catalog.store import KINDS
from fathom.catalog.twin_params import twin_params_json
from fathom.errors import UsageError
from fathom.load.resolve import ensure_simulable, resolve_targets


def problems(write: Write, text: str, kind: str = "published") -> list[str]:
    """What is said about a file, without its path."""
    name = {"published": "acme-one", "devices": "acme-one-7.68tb"}[kind]
    path = write(f"{kind}/{name}.toml", text)
    load = {"published": catalog.load_published, "devices": catalog.load_device}[kind]
    with pytest.raises(catalog.CatalogError) as error:
        load(name)
    lines = str(error.value).splitlines()
    assert all(line.startswith(f"{path}:") for line in lines)
    return [line.removeprefix(f"{path}:") for line in lines]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("iops = 2108065", "iosp = 2108065, iops = 1", '24: unknown key "iosp"; did you mean "iops"?'),
        ("seq_read_mbps", "seq_read_mbs", '12: unknown key "seq_read_mbs"; did you mean "seq_read_mbps"?'),
        ('subject = "One', 'subjct = "One', '20: unknown key "subjct"; did you mean "subject"?'),
        ("iops = 473658", 'iops = "473k IOPS"', '25: iops: expected a number, found "473k IOPS"'),
        ("iops = 473658", "iops = nan", "25: iops: expected a finite number; leave the key out where the source gives "
         "none, found nan"),
        ("iops = 473658", "iops = -4", "25: iops: expected a number above 0, found -4"),
        ("iops = 473658", "iops = 5, threads = 1.5", "25: threads: expected a whole number, found 1.5"),
        ('role = "validation"', 'role = "validate"', '25: role: "validate" is not one of calibration, validation, '
         'context; did you mean "validation"?'),
        ("iops = 473658", 'iops = 1, pattern = "random"', '25: pattern: "random" is not one of seq, rand, mixed, '
         'trace, synthetic-db, app, zoned; did you mean "rand"?'),
        ('vendor = "Acme"\n', "", '4: key "vendor" is missing'),
        ('kind = "ssd"', 'kind = "sdd"', '7: kind: "sdd" is not one of ssd, hdd, nvme-of-array, cluster, hdd-server, '
         'gpu; did you mean "ssd"?'),
        ('workload = "fio-4k-rand-read"', 'workload = "4k rand read"', "24: workload: expected lower-case letters, "
         'digits, dots and dashes, found "4k rand read"'),
        ('source = "a review"\n', "", "18: row 1 has no source, here or in the group"),
        ('bench = "acme-bench"\n', "", "23: a calibration row needs its bench, here or in the group"),
        (", iops = 2108065", "", "24: a calibration row needs a figure: one of iops, mbps, mibps, latency_us, value"),
        ("iops = 2108065", "iops = 2, value = 3", "24: value and unit go together"),
        ("iops = 2108065", "latency_us = 3", "24: latency_us and latency_kind go together"),
        (', note = "a listing"', "", "10: row 2 is uncertain but has no note that says why"),
        ('model = "One"', r'model = "One\u001b[31m"', "6: model: expected one line of text, "
         r'not empty, found "One\u001b[31m"'),
        ('kind = "ssd"', 'kind = "ssd"\nuncertain = ["nnd"]', "4: uncertain names nnd, which is no key of [identity]"),
        ('kind = "ssd"', 'kind = "ssd"\ncapacities_gb = [1, "2"]', '8: capacities_gb[1]: expected a number, found "2"'),
        ("[identity]", "[identity", "4: not TOML: "),
        ("seq_read_mbps = 13700", "seq_read_mbps = 13,700", "12: not TOML: "),
    ],
)  # fmt: skip
def test_one_mistake_in_published_results_is_one_line(
    write: Write, old: str, new: str, expected: str
) -> None:
    assert old in PUBLISHED
    found = problems(write, PUBLISHED.replace(old, new, 1))
    assert len(found) == 1
    assert found[0].startswith(expected)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("capacity_bytes = 7681501126656", 'capacity_bytes = "7.68 TB"', '4: capacity_bytes: expected a whole number, '
         'found "7.68 TB"'),
        ("value = 56.5", 'value = ""', '22: value: expected a number, true, false or text, found ""'),
        ("value = 56.5", "value = [56.5]", "22: value: expected a number, true, false or text, found a list"),
        ('basis = "calibrated"', 'basis = "calibration"', '23: basis: "calibration" is not one of published, derived, '
         'calibrated, assumed; did you mean "calibrated"?'),
        ("parameters.read_sense_us", "parameters.ReadSense", "21: ReadSense: expected lower-case words joined by _, "
         'the unit last, found "ReadSense"'),
        ('source = "fio-4k-rand-read"\n', "", '21: key "source" is missing'),
        ('interface = "PCIe', 'interfaces = "PCIe', '10: unknown key "interfaces"; did you mean "interface"?'),
        ('bench = "acme-bench"\n', "", '12: key "bench" is missing'),
        ('schema = "fathom-device/1"\n', "", '1: key "schema" is missing: write schema = "fathom-device/1"'),
        ("value = 16", "value = 16.5", "12: channels: expected a whole number, found 16.5"),
        ("value = 16", 'value = "x"', "12: channels: expected a whole number, found x"),
        ('schema = "fathom-device/1"', 'schema = "fathom-device/2"', '1: schema: "fathom-device/2" is not one of '
         'fathom-device/1; did you mean "fathom-device/1"?'),
    ],
)  # fmt: skip
def test_one_mistake_in_a_device_is_one_line(write: Write, old: str, new: str, expected: str) -> None:
    assert old in DEVICE
    assert problems(write, DEVICE.replace(old, new, 1), "devices") == [expected]


def test_several_mistakes_come_in_the_order_of_the_file(write: Write) -> None:
    text = (
        PUBLISHED.replace("vendor", "vendr")
        .replace("iops = 473658", "iops = true")
        .replace("name = ", "nam = ")
    )
    found = [line.split(":")[0] for line in problems(write, text)]
    assert found == sorted(found, key=int)
    assert len(found) == 5


def test_a_wrong_key_of_a_group_is_reported_once_and_not_for_each_row(write: Write) -> None:
    assert (
        len(problems(write, PUBLISHED.replace("capacity_gb = 7680\nsource", 'capacity_gb = "x"\nsource')))
        == 1
    )


def test_a_file_under_another_name_than_its_own_is_refused(write: Write) -> None:
    write("devices/other.toml", DEVICE)
    with pytest.raises(catalog.CatalogError, match='name is "acme-one-7'):
        catalog.load_device("other")


def test_a_file_that_is_not_text_is_refused(write: Write) -> None:
    write("devices/x.toml", "").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(catalog.CatalogError, match="cannot be read"):
        catalog.load_device("x")


def test_published_results_that_lead_back_to_themselves_are_refused_with_the_file(write: Write) -> None:
    path = write(
        "published/acme-one.toml", PUBLISHED.replace("[identity]", 'results_in = ["acme-one"]\n[identity]', 1)
    )
    with pytest.raises(catalog.CatalogError, match="results_in leads back to this file") as error:
        catalog.load_published("acme-one")
    assert str(error.value).startswith(f"{path}: ")


def test_a_wrong_file_of_sensitivities_is_a_line_for_each_problem(write: Write) -> None:
    path = write("sensitivities/acme.toml", 'schema = "fathom-sensitivity/1"\nname = 5\n')
    with pytest.raises(catalog.CatalogError) as error:
        load_sensitivity("acme")
    lines = str(error.value).splitlines()
    assert f"{path}:2: name: expected text in quotes, found 5" in lines
    assert all(line.startswith(f"{path}:") for line in lines)


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"toshiba-mg10-20tb": 8}, "toshiba-mg10-20tb is no SSD"),
        ({"sys": 2}, "sys is no SSD"),
        ({}, "names no drive"),
    ],
)
def test_a_system_of_other_than_ssds_is_refused(write: Write, members: dict[str, int], says: str) -> None:
    text = catalog.entry_text("atto-xstreamcore-9400").replace(
        'name = "atto-xstreamcore-9400"', 'name = "sys"'
    )
    head, _, rest = text.partition("[twin.members]")
    listed = "".join(f'"{name}" = {count}\n' for name, count in members.items())
    write("devices/sys.toml", f"{head}[twin.members]\n{listed}\n{rest[rest.index('[twin.reasons]') :]}")
    with pytest.raises(catalog.CatalogError, match=says):
        twin_params_json(catalog.load_device("sys"))


@pytest.mark.parametrize("setting", ["member=²", "namespaces=²", "namespaces=²+50,namespace=1"])
def test_a_digit_that_is_no_number_is_refused_as_a_value(setting: str) -> None:
    with pytest.raises(UsageError, match="²"):
        ensure_simulable(resolve_targets([f"twin:samsung-pm9a3-7.68tb?{setting}"])[0])


def paths(value: Any, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    """Every key and array element of a parsed document."""
    children = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    return {path, *(found for key, child in children for found in paths(child, (*path, key)))}


@pytest.mark.parametrize(
    ("kind", "name"), [(entry.kind, entry.name) for kind in KINDS for entry in catalog.entries(kind)]
)
def test_every_key_of_every_shipped_file_has_a_line(kind: catalog.Kind, name: str) -> None:
    text = catalog.find(kind, name).text()
    assert set(key_lines(text)) == paths(tomllib.loads(text)) - {()}


def test_lines_are_right_in_awkward_toml() -> None:
    text = '''# a [comment] = 1
a.b = """
one = 2 # not a comment
"""
"c.d" = {e = [1, [2, 3]], f = "}#,"}

[[t]]
x = 07:32:00
[t.u]
y = [ # list
  1.5, # = 3
  {z = 'it"s'},
]
[[t]]
  x = """a"b"""  # end
'''
    lines = key_lines(text)
    assert set(lines) == paths(tomllib.loads(text)) - {()}
    expected: dict[tuple[str | int, ...], int] = {
        ("a", "b"): 2,
        ("c.d", "f"): 5,
        ("t", 0): 7,
        ("t", 0, "x"): 8,
        ("t", 0, "u", "y"): 10,
        ("t", 0, "u", "y", 1, "z"): 12,
        ("t", 1, "x"): 15,
    }
    assert {path: lines[path] for path in expected} == expected


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "# note\n", "\n\n"]),
            st.sampled_from(
                ['"text # ] }"', "'it\"s'", "[1, {a = 2}]", '"""x\n\ny"""', "1.5e3", "{ q.r = [ ] }"]
            ),
        ),
        max_size=8,
    )
)
def test_lines_of_any_sequence_of_values_are_right(items: list[tuple[str, str]]) -> None:
    text = "".join(f"{gap}key{number} = {value}\n" for number, (gap, value) in enumerate(items))
    lines = key_lines(text)
    assert set(lines) == paths(tomllib.loads(text)) - {()}
    written = text.splitlines()
    assert all(
        written[lines[f"key{number}",] - 1].startswith(f"key{number} =") for number in range(len(items))
    )
