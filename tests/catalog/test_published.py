"""What is shipped as published results: complete against the references, and with the roles that validation relies on.

The references are a folder beside the repository; where it is absent, only the roles are checked.
"""

import math
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fathom.catalog import entries, load_device, load_published
from fathom.catalog.models import PublishedRow
from fathom.validation.ratings import rated_cases

REFERENCES = Path(__file__).parents[3] / "shared" / "references"
SHIPPED = [entry.name for entry in entries("published") if entry.shipped]
R760 = ("wd-ultrastar-dc-sn861", "kioxia-cm7-r", "samsung-pm1743", "samsung-pm9a3")
CLUSTERS = [name for name in SHIPPED if name.startswith("weka-cluster-")]

IN_A_NOTE = ("operating_min_c", "operating_max_c", "storage_min_c", "storage_max_c", "size_mm", "features")
"""Keys of an identity that the references have in words, in their note."""

references = pytest.mark.skipif(not REFERENCES.is_dir(), reason="the references are not beside this checkout")


def figures(row: dict[str, Any]) -> dict[str, Any]:
    """Numbers and lists of numbers of a row; nan and empty lists mean that the source does not say."""
    numbers = {key: value for key, value in row.items() if isinstance(value, int | float | list)}
    return {
        key: value
        for key, value in numbers.items()
        if value != [] and key != "uncertain" and not (isinstance(value, float) and math.isnan(value))
    }


def without(row: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """The row without some of its keys."""
    return {key: value for key, value in row.items() if key not in keys}


def citations(text: str) -> set[str]:
    """What identifies a source whatever the wording: the source document's id, and addresses."""
    return set(re.findall(r"\d{3}_[0-9a-f]{16}|https?://[^\s,;()]+", text))


def stands_in(path: Path, row: PublishedRow) -> bool:
    """Whether a reference has the row, said of the same subject with the same figures by the same source."""
    return any(
        old["subject"] == row.subject
        and figures(old) == figures(row.to_dict())
        and citations(old["source"]) <= citations(row.source)
        for old in tomllib.loads(path.read_text())["published"]["rows"]
    )


@references
def test_every_reference_file_is_in_the_catalogue() -> None:
    assert {path.stem for path in REFERENCES.glob("*.toml")} <= set(SHIPPED)


@references
@pytest.mark.parametrize("path", sorted(REFERENCES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_figure_of_a_reference_is_in_the_catalogue_and_others_have_a_source_of_their_own(
    path: Path,
) -> None:
    reference = tomllib.loads(path.read_text())
    shipped = load_published(path.stem)
    borrowed = [row for name in shipped.results_in for row in load_published(name).rows]
    measured = shipped.rows[: len(shipped.rows) - len(borrowed)]
    of_this_drive = measured[: len(reference["published"]["rows"])]
    of_every_drive = measured[len(of_this_drive) :]
    rated, found_later = reference["spec"]["rows"], shipped.ratings[len(reference["spec"]["rows"]) :]
    assert [*shipped.rows[len(measured) :]] == borrowed
    for row in found_later:
        assert citations(row.source) - citations(path.read_text())
    depths = [row for row in of_every_drive if row.workload.startswith("qd-scaling-")]
    for row in depths:
        mix = f"fio-{row.workload.removeprefix('qd-scaling-')}"
        assert row.value in {
            one.iodepth for one in of_this_drive if one.workload == mix and not one.uncertain
        }
    for row in of_every_drive:
        if row in depths:
            continue
        assert row.subject == "all SSDs in the test"
        assert any(stands_in(other, row) for other in REFERENCES.glob("*.toml") if other != path)
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (reference["identity"], without(shipped.identity.to_dict(), IN_A_NOTE)),
        *zip(rated, (row.to_dict() for row in shipped.ratings[: len(rated)]), strict=True),
        *zip(reference["published"]["rows"], (row.to_dict() for row in of_this_drive), strict=True),
    ]
    for old, new in pairs:
        assert figures(new) == figures(old)
        settled = "only the MB/s are in doubt" in new.get("note", "") and not new.get("uncertain")
        assert bool(new.get("uncertain")) == bool(old.get("uncertain")) or "vendor" in new or settled
        assert new.get("pattern", "") == old.get("pattern", "")
        assert new.get("subject", "") == old.get("subject", "")
        assert new.get("state", "") == old.get("state", "")
        assert citations(old["source"]) <= citations(new["source"])


def rows(name: str, **where: object) -> list[PublishedRow]:
    found = [
        row
        for row in load_published(name).rows
        if all(getattr(row, key) == value for key, value in where.items())
    ]
    assert found, f"{name} has no row with {where}"
    return found


def roles(name: str, **where: object) -> set[str]:
    return {row.role for row in rows(name, **where)}


@pytest.mark.parametrize("name", R760)
def test_of_the_r760_review_the_corners_and_the_4k_mix_calibrate_and_the_rest_validates(name: str) -> None:
    calibrating = {row.workload for row in rows(name, role="calibration", calibrates="device")}
    corners = {"fio-256k-seq-read", "fio-256k-seq-write", "fio-4k-rand-read", "fio-4k-rand-write"}
    assert calibrating == corners | {"vdbench-4k-rand-70r30w"}
    assert {row.bench for row in rows(name) if row.workload in corners} == {"storagereview-r760-fio"}
    others = [
        row for row in rows(name, bench="storagereview-r760-vdbench") if row.workload not in calibrating
    ]
    assert {row.role for row in others if row.workload.startswith("vdbench-")} == {"validation"}


def test_desktop_profiles_may_be_shaped_by_one_drive_only_and_never_shape_a_drive() -> None:
    for name in R760:
        profiles = [row for row in rows(name) if row.workload.startswith("vdi-")]
        assert len(profiles) == 6
        expected = ("calibration", "workload") if name == R760[0] else ("validation", "device")
        assert {(row.role, row.calibrates) for row in profiles} == {expected}


def test_of_the_sn640_only_the_pure_rows_at_depth_32_calibrate() -> None:
    calibrating = {(row.workload, row.iodepth) for row in rows("wd-ultrastar-dc-sn640", role="calibration")}
    assert calibrating == {("fio-4k-rand-read", 32), ("fio-4k-rand-write", 32)}
    assert len(rows("wd-ultrastar-dc-sn640", role="validation")) == 10


def test_of_the_array_one_row_calibrates_and_all_added_latencies_validate() -> None:
    (only,) = rows("atto-xstreamcore-9400", role="calibration")
    assert (only.workload, only.iodepth, only.iops) == ("fio-4k-rand-read", 32, 3421239)
    assert roles("atto-xstreamcore-9400", latency_kind="added") == {"validation"}
    assert roles("atto-xstreamcore-9400", workload="max-4k-read") == {"context"}


def test_of_the_disks_sequential_rates_and_the_seek_rate_calibrate_and_random_rates_validate() -> None:
    name = "diaway-tartu-20tb-cmr-vs-smr"
    for workload in ("fio-seq-read", "fio-seq-write", "fio-1m-seq-write", "mechanical-random-seek-rate"):
        assert roles(name, workload=workload) == {"calibration"}
    for workload in ("fio-4k-rand-read", "fio-64k-rand-read", "fio-4k-seq-write"):
        assert roles(name, workload=workload) == {"validation"}
    bounds = {(row.bound, row.iops) for row in rows(name, workload="fio-4k-rand-read")}
    assert bounds == {("at-least", 157), ("at-most", 160)}


def test_of_the_m510dc_only_the_steady_floor_calibrates() -> None:
    (floor,) = rows("micron-m510dc", role="calibration")
    assert floor.iops == 22000
    distribution = [
        row for row in rows("micron-m510dc") if row.workload.startswith(("latency-distribution", "qd-"))
    ]
    assert {row.role for row in distribution} == {"validation"}


@pytest.mark.parametrize("name", CLUSTERS)
def test_of_a_cluster_four_maxima_calibrate_and_mixes_and_rates_per_tb_validate(name: str) -> None:
    calibrating = Counter(row.workload for row in rows(name, role="calibration"))
    assert calibrating == dict.fromkeys(
        ("fio-4k-rand-read", "fio-4k-rand-write", "fio-1m-seq-read", "fio-1m-seq-write"), 1
    )
    mixes = {"fio-4k-rand-70r30w", "fio-4k-rand-50r50w", "fio-4k-rand-30r70w"}
    predicted = mixes | {"fio-128k-seq-read", "fio-128k-seq-write", "normalised-read-iops-per-tb-raw"}
    assert predicted <= {row.workload for row in rows(name, role="validation")}


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_no_measurement_or_has_no_number_is_context(name: str) -> None:
    for row in load_published(name).rows:
        if row.workload.startswith(("procedure-", "reader-remark-", "cluster-", "ai-feed-", "gpu-")):
            assert row.role == "context", row
        if row.role == "context":
            assert not row.workload.startswith(("vdbench-", "vdi-")), row


@pytest.mark.parametrize("name", SHIPPED)
def test_no_certain_figure_is_both_fitted_and_predicted(name: str) -> None:
    seen: dict[tuple[object, ...], str] = {}
    for row in load_published(name).rows:
        if row.role != "context" and not row.uncertain and row.iops is not None:
            key = (row.workload, row.op, row.iodepth, row.iops, row.bound)
            assert seen.setdefault(key, row.role) == row.role, row


@pytest.mark.parametrize("name", [entry.name for entry in entries("devices") if entry.shipped])
def test_a_calibrated_parameter_names_the_rows_it_was_fitted_to_and_they_are_calibration(name: str) -> None:
    device = load_device(name)
    assert device.published is not None
    assert device.twin is not None
    allowed = {
        row.workload
        for row in load_published(device.published).rows
        if row.role == "calibration" and row.calibrates == "device"
    } | {case.row.workload for case in rated_cases(device)}
    for key, parameter in device.twin.parameters.items():
        if parameter.basis == "calibrated":
            fitted_to = set(
                re.findall(r"\b(?:fio|vdbench|vdi|rand-write|rated)-[a-z0-9-]*[a-z0-9]", parameter.source)
            )
            assert fitted_to, (
                f"{key}: basis calibrated, but its source names no workload that it was fitted to"
            )
            assert fitted_to <= allowed, (
                f"{key}: fitted to {fitted_to - allowed}, which published/{device.published}.toml does not have as "
                "calibration rows; a value taken from another drive is assumed, and its source names that drive"
            )
