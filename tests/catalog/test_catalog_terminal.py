"""What the catalogue shows in a terminal, as plain text."""

import io
import re
from collections.abc import Callable

import pytest
from catalog_samples import BENCH, DEVICE, PUBLISHED, Write
from rich.console import Console

from fathom import catalog
from fathom.catalog import terminal
from fathom.catalog.sheet import capacity_text


def shown(name: str, width: int = 100) -> str:
    return captured(lambda console: terminal.print_entry(console, name), width)


def listed(kind: catalog.Kind | None = None, width: int = 100) -> str:
    return captured(lambda console: terminal.print_catalog(console, kind), width)


def captured(show: Callable[[Console], None], width: int) -> str:
    """Plain text as in a terminal of that width, without trailing spaces."""
    file = io.StringIO()
    show(Console(file=file, width=width, color_system=None))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def line_of(text: str, start: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if line.strip().startswith(start)]
    return line.split()


def test_a_device_shows_ratings_parameters_with_basis_and_source_and_results_with_role(acme: Write) -> None:
    text = shown("acme-one-7.68tb")
    assert text.startswith("Acme One 7.68TB  7.682 TB")
    assert line_of(text, "channels") == ["channels", "16", "published", "controller", "brief"]
    assert line_of(text, "read_sense_us")[:3] == ["read_sense_us", "56.5", "calibrated"]
    assert line_of(text, "program_suspend")[:3] == ["program_suspend", "true", "assumed"]
    assert line_of(text, "fio-4k-rand-read") == ["fio-4k-rand-read", "8T/32Q", "2,108,065", "calibration"]
    assert line_of(text, "vdbench-8k-rand-70r30w")[1:] == ["64T", "682,000", "93", "validation"]
    assert line_of(text, "vdi-full-clone-boot")[1:] == ["370,000", "94", "calibrates", "mix"]
    assert line_of(text, "7.68  U.2")[-9:-1] == ["13,700", "7,500", "3,300", "430", "65", "8", "20", "5"]
    assert "3.84" not in text, "ratings of another capacity are another device's"
    assert "source: StorageReview" in text


def test_doubt_is_marked_and_explained(acme: Write) -> None:
    acme("devices/acme-one-7.68tb.toml", DEVICE.replace("wd-ultrastar-dc-sn861", "acme-one"))
    text = shown("acme-one-7.68tb")
    assert line_of(text, "7.68")[-2:] == ["?", "[1]"]
    assert "[1] a listing" in text
    review = shown("diaway-tartu-20tb-cmr-vs-smr")
    assert line_of(review, "fio-4k-seq-write")[-3:] == ["validation", "?", "[3]"]
    assert "[3] drive not named" in review


def test_limits_and_added_latencies_cannot_be_taken_for_measured_means(acme: Write) -> None:
    assert "≥ 65,500" in shown("diaway-tartu-20tb-cmr-vs-smr")
    assert "+2.7" in shown("atto-xstreamcore-9400")
    assert "5,000 limit" in shown("micron-m510dc")


@pytest.mark.parametrize("name", [e.name for e in catalog.entries("published") if e.shipped])
def test_neither_figure_nor_role_of_a_result_is_cut_at_80_columns(name: str) -> None:
    text = shown(name, width=80)
    assert "…" not in text
    assert max(len(line) for line in text.splitlines()) <= 80
    rows = catalog.load_published(name).rows
    assert all(f"{row.iops:,.0f}" in text for row in rows if row.iops is not None)
    assert text.count("validation") >= sum(row.role == "validation" for row in rows)


def test_a_name_of_two_kinds_shows_both(acme: Write) -> None:
    acme("systems/acme-one.toml", BENCH.replace("acme-bench", "acme-one"))
    text = shown("acme-one")
    assert "Acme bench" in text
    assert "Acme One" in text


def test_the_list_counts_results_by_role_and_marks_what_is_the_users(acme: Write) -> None:
    text = listed("published", width=80)
    assert line_of(text, "wd-ultrastar-dc-sn861") == ["wd-ultrastar-dc-sn861", "9", "11", "12", "4"]
    assert line_of(text, "acme-one") == ["acme-one", "(yours)", "2", "1", "1"]
    devices = listed("devices", width=80)
    assert line_of(devices, "acme-one-7.68tb")[-3:] == ["ssd", "12", "rows"]


def test_one_wrong_file_does_not_hide_the_others(acme: Write) -> None:
    acme("published/broken.toml", PUBLISHED.replace("iops", "iosp"))
    text = listed("published", width=200)
    assert 'unknown key "iosp"; did you mean "iops"?' in text
    assert "kioxia-cm7-r" in text


def test_methods_show_what_they_answer_and_a_methods_file_is_shown_verbatim(acme: Write) -> None:
    method = 'name = "mine"\ntitle = "My [b]method[/b]"\nsummary = "What it answers."\n\n[[steps]]\nname = "fill"\n'
    acme("methods/mine.toml", method)
    text = listed("methods")
    assert "My [b]method[/b]" in text
    assert "What it answers." in text
    assert shown("mine") == method.rstrip()
    assert catalog.method_text("mine") == method


def test_markup_in_a_users_file_is_printed_and_not_obeyed(acme: Write) -> None:
    acme("devices/acme-one-7.68tb.toml", DEVICE.replace("Acme One 7.68TB", "Acme [red]One[/red]"))
    assert shown("acme-one-7.68tb").startswith("Acme [red]One[/red]")


def test_an_unknown_entry_is_answered_with_the_nearest(acme: Write) -> None:
    with pytest.raises(catalog.UnknownEntryError, match='did you mean "acme-one-7'):
        shown("acme-one-7.86tb")


@pytest.mark.parametrize("name", ["wd-ultrastar-dc-sn861-7.68tb", "weka-direct", "micron-9400-pro"])
def test_sources_are_named_without_numbers_of_documents_that_readers_do_not_have(name: str) -> None:
    text = shown(name, 400)
    assert "source" in text
    assert not re.search(r"\d{3}_[0-9a-f]{16}", text)


def test_rated_power_says_what_the_drive_does_meanwhile() -> None:
    head, rated = ratings_of("samsung-pm9a3")
    assert "active" not in head
    assert rated[-3:-1] == ["11", "13.5"]
    assert head.count("read") == head.count("write") == 3
    assert "active" in ratings_of("kioxia-cm9-r-15.36tb")[0]


def ratings_of(name: str) -> tuple[list[str], list[str]]:
    """The words of the table's head, and of its first row."""
    lines = shown(name, 120).split("Ratings:")[1].splitlines()
    end = next(number for number, line in enumerate(lines) if "───" in line)
    return " ".join(lines[1:end]).split(), lines[end + 1].split()


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (480_000_000_000, "480 GB"),
        (7_681_501_126_656, "7.682 TB"),
        (973_000_000_000_000, "973 TB"),
        (12_340_000_000_000_000, "12.34 PB"),
        (18_000_000_000_000_000_000, "18,000 PB"),
    ],
)
def test_a_capacity_of_any_size_has_no_exponent(size_bytes: int, text: str) -> None:
    assert capacity_text(size_bytes) == text


@pytest.mark.parametrize("name", [entry.name for entry in catalog.entries("devices")])
def test_no_rating_of_the_catalogue_loses_letters_in_a_terminal_of_80_columns(name: str) -> None:
    _, _, ratings = shown(name, 80).partition("\nRatings")
    table = ratings.partition("\n  [")[0].partition("\n  source")[0].splitlines()
    assert not [line for line in table if "…" in line]
    assert all(re.search(r"\[\d+\]$", line) for line in table if "[" in line)


def test_ratings_too_wide_for_the_terminal_are_turned_round(acme: Write) -> None:
    assert line_of(shown("acme-one-7.68tb", 40), "read, MB/s")[-1] == "13,700"
