"""Loading by name: what is shipped, what the user lays over it, and what is said of names that do not exist."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from catalog_samples import BENCH, DEVICE, PUBLISHED, Write

from fathom import catalog
from fathom.catalog.models import MODELS
from fathom.catalog.store import KINDS
from fathom.catalog.twin_params import twin_params_json

LOADERS = {
    "devices": catalog.load_device,
    "systems": catalog.load_system,
    "published": catalog.load_published,
}
SHIPPED = [(entry.kind, entry.name) for kind in KINDS for entry in catalog.entries(kind) if entry.shipped]


@pytest.mark.parametrize(("kind", "name"), [entry for entry in SHIPPED if entry[0] in LOADERS])
def test_every_shipped_file_is_valid_and_survives_a_round_trip(kind: str, name: str) -> None:
    model = LOADERS[kind](name)
    assert model.name == name
    again = MODELS[kind].model_validate(json.loads(json.dumps(model.to_dict())))
    assert again == model


def test_every_twin_has_its_bench_and_published_results() -> None:
    for name in catalog.device_names():
        device = catalog.load_device(name)
        assert device.twin is not None
        bench = catalog.load_system(device.twin.bench)
        parameters = json.loads(twin_params_json(device))
        own = {"drives", "between", "block_bytes"} if device.starts_settled else set(device.twin.parameters)
        assert parameters.keys() == {"kind", "capacity_bytes", "host", *own}
        assert parameters["host"].keys() == bench.parameters.keys()
        assert device.published is not None
        published = catalog.load_published(device.published)
        if any(parameter.basis == "calibrated" for parameter in device.twin.parameters.values()):
            rated = published.ratings if device.is_of_data_sheet else ()
            assert rated or {row.role for row in published.rows} >= {"calibration"}, (
                f"{name} has parameters with the basis calibrated, but published/{device.published}.toml has no "
                "calibration rows; a value taken from another drive is assumed, and its source names that drive"
            )


def test_a_system_names_its_drives_and_brings_its_hosts() -> None:
    shelf = catalog.load_device("atto-xstreamcore-9400")
    parameters = json.loads(twin_params_json(shelf))
    assert [drive["count"] for drive in parameters["drives"]] == [8, 16]
    assert parameters["between"]["fabric"]["ports"] == 4
    assert shelf.hosts == 4
    assert catalog.load_device("weka-6x-micron-6500-ion").hosts == 12
    assert catalog.load_device("samsung-pm9a3-7.68tb").hosts == 1


def test_every_shipped_method_is_given_verbatim() -> None:
    import tomllib

    for name in catalog.method_names():
        assert tomllib.loads(catalog.method_text(name))["name"] == name


def test_a_users_folder_adds_devices_and_hides_shipped_ones(write: Write) -> None:
    write("devices/acme-one-7.68tb.toml", DEVICE)
    write("published/wd-ultrastar-dc-sn861.toml", PUBLISHED.replace("acme-one", "wd-ultrastar-dc-sn861"))
    assert "acme-one-7.68tb" in catalog.device_names()
    assert catalog.load_published("wd-ultrastar-dc-sn861").identity.vendor == "Acme"
    origins = {entry.name: entry.shipped for entry in catalog.entries("published")}
    assert not origins["wd-ultrastar-dc-sn861"]
    assert origins["kioxia-cm7-r"]


def test_the_chosen_folder_is_stronger_than_the_home_folder(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    write("config/fathom/catalog/systems/acme-bench.toml", BENCH.replace("Acme bench", "from home"))
    assert catalog.load_system("acme-bench").label == "from home"
    write("systems/acme-bench.toml", BENCH)
    assert catalog.load_system("acme-bench").label == "Acme bench"


def test_a_file_changed_between_two_loads_is_read_again(acme: Write) -> None:
    assert catalog.load_system("acme-bench").label == "Acme bench"
    acme("systems/acme-bench.toml", BENCH.replace("Acme bench", "Acme bench 2"))
    assert catalog.load_system("acme-bench").label == "Acme bench 2"


@pytest.mark.parametrize(
    ("load", "name", "text"),
    [
        (catalog.load_published, "kioxia-cm7r", 'did you mean "kioxia-cm7-r"'),
        (catalog.load_device, "one-7", 'did you mean "acme-one-7.68tb"'),
        (catalog.load_device, "acme-one-7.86tb", 'did you mean "acme-one-7.68tb"'),
        (catalog.load_system, "acme-bank", 'did you mean "acme-bench"'),
        (catalog.method_text, "no-such-method-at-all", "`fathom methods` lists all"),
        (catalog.entry_json, "zzz", "`fathom catalog` lists all"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(acme: Write, load: Any, name: str, text: str) -> None:
    with pytest.raises(catalog.UnknownEntryError) as error:
        load(name)
    assert text in str(error.value)
    assert f'"{name}"' in str(error.value)


def test_parameters_go_to_the_simulator_with_their_types_and_the_bench_nested(acme: Write) -> None:
    acme("systems/bigger.toml", BENCH.replace("acme-bench", "bigger").replace("32", "64"))
    device = catalog.load_device("acme-one-7.68tb")
    expected = {
        "kind": "ssd",
        "capacity_bytes": 7681501126656,
        "channels": 16,
        "read_sense_us": 56.5,
        "program_suspend": True,
        "host": {"cores": 32},
    }
    assert json.loads(twin_params_json(device)) == expected
    assert isinstance(json.loads(twin_params_json(device))["channels"], int)
    assert json.loads(twin_params_json(device, "bigger"))["host"] == {"cores": 64}


def test_a_device_without_a_twin_says_that_it_cannot_be_simulated(write: Write) -> None:
    write("devices/acme-one-7.68tb.toml", DEVICE[: DEVICE.index("[twin]")])
    with pytest.raises(catalog.CatalogError, match=r"has no \[twin\]"):
        twin_params_json(catalog.load_device("acme-one-7.68tb"))


def test_a_published_result_is_found_by_workload(acme: Write) -> None:
    (row,) = catalog.published_for("acme-one-7.68tb", "fio-4k-rand-read")
    assert (row.iops, row.role, row.bench) == (2108065, "calibration", "storagereview-r760-fio")
    assert catalog.published_for("acme-one-7.68tb", "fio-512b-rand-read") == []


def test_a_published_result_of_another_capacity_is_not_this_devices(acme: Write) -> None:
    acme("devices/acme-one-7.68tb.toml", DEVICE.replace("7681501126656", "3840755982336"))
    assert catalog.published_for("acme-one-7.68tb", "fio-4k-rand-read") == []


def test_depth_and_half_of_a_mix_choose_among_rows_of_one_workload(acme: Write) -> None:
    device = DEVICE.replace("wd-ultrastar-dc-sn861", "wd-ultrastar-dc-sn640")
    acme("devices/acme-one-7.68tb.toml", device.replace("7681501126656", "3200631791616"))

    def iops(workload: str, **which: Any) -> list[float | None]:
        return [row.iops for row in catalog.published_for("acme-one-7.68tb", workload, **which)]

    assert iops("fio-4k-rand-read") == [289811, 467259, 638134]
    assert iops("fio-4k-rand-read", iodepth=128) == [638134]
    assert iops("fio-4k-rand-70r30w", op="write", iodepth=64) == [94251]
    assert iops("fio-4k-rand-70r30w") == []


def test_the_measured_and_the_certain_come_first(acme: Write) -> None:
    rows = (
        '  { workload = "fio-4k-rand-read", role = "context", iops = 3 },\n'
        '  { workload = "fio-4k-rand-read", role = "validation", iops = 2, uncertain = true, note = "?" },\n'
    )
    acme(
        "published/acme-one.toml",
        PUBLISHED.replace("rows = [\n  { workload", f"rows = [\n{rows}  {{ workload"),
    )
    acme("devices/acme-one-7.68tb.toml", DEVICE.replace('"wd-ultrastar-dc-sn861"', '"acme-one"'))
    found = catalog.published_for("acme-one-7.68tb", "fio-4k-rand-read")
    assert [row.iops for row in found] == [2108065, 2, 3]


def test_rows_take_what_they_lack_from_their_group_and_keep_what_they_have(acme: Write) -> None:
    published = catalog.load_published("acme-one")
    assert [row.bench for row in published.rows] == ["acme-bench", "other-bench"]
    assert [row.subject for row in published.rows] == ["One 7.68TB"] * 2
    assert [(row.capacity_gb, row.seq_read_mbps) for row in published.ratings] == [
        (3840, 13700),
        (7680, 13700),
    ]


def test_an_entry_as_json_brings_a_devices_published_results(acme: Write) -> None:
    document: Any = catalog.entry_json("acme-one-7.68tb")
    assert document["schema"] == "fathom-catalog/1"
    assert document["devices"]["twin"]["parameters"]["channels"]["value"] == 16
    assert document["published"]["name"] == "wd-ultrastar-dc-sn861"
    assert json.loads(json.dumps(document)) == document


@pytest.mark.parametrize("kind", ["devices", "systems", "published"])
def test_json_schema_names_every_key_and_refuses_others(kind: catalog.Kind) -> None:
    schema: Any = catalog.json_schema(kind)
    assert {"schema", "name"} <= set(schema["required"])
    assert schema["additionalProperties"] is False


def test_methods_have_their_schema_elsewhere() -> None:
    with pytest.raises(catalog.CatalogError, match="no JSON Schema for methods"):
        catalog.json_schema("methods")


def test_importing_the_catalogue_loads_neither_pydantic_nor_rich() -> None:
    code = (
        "import sys, fathom.catalog\n"
        "sys.exit(str({'pydantic', 'rich', 'tomllib', 'importlib.resources', 'difflib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "set()"


@pytest.mark.parametrize(
    ("kind", "name"), [("devices", "device"), ("systems", "system"), ("published", "published")]
)
def test_the_json_schema_in_the_documentation_is_the_programs(kind: catalog.Kind, name: str) -> None:
    page = Path(__file__).parents[2] / f"docs/reference/schema/fathom-{name}-1.json"
    assert json.loads(page.read_text()) == catalog.json_schema(kind)


def test_the_examples_of_the_reference_page_are_valid_files(write: Write) -> None:
    page = (Path(__file__).parents[2] / "docs/reference/catalog.md").read_text()
    files = {
        "device/1": "devices/acme-one-7.68tb",
        "system/1": "systems/acme-lab",
        "published/1": "published/acme-one",
    }
    for schema, file in files.items():
        (example,) = re.findall(rf'```toml\n(schema = "fathom-{schema}".*?)```', page, flags=re.DOTALL)
        write(f"{file}.toml", example)
    assert catalog.load_device("acme-one-7.68tb").published == "acme-one"
    assert catalog.load_system("acme-lab").parameters["cores"].value == 64
    assert [row.op for row in catalog.published_for("acme-one-7.68tb", "fio-4k-rand-70r30w", op="read")] == [
        "read"
    ]
