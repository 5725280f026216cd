"""Turns a data sheet into a device and its ratings: what the sheet says, what follows from it, and its class's rest.

The draft has a start for every parameter that `fathom.new_device.fit` fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fathom.catalog.models import Device, DeviceIdentity, Parameter, Published, TwinModel
from fathom.catalog.models.published import ProductIdentity, SpecGroup
from fathom.new_device.classes import NandClass, likeness
from fathom.new_device.flash import PARITY_DIES, Flash, flash_of
from fathom.new_device.link import fills_link
from fathom.new_device.sheet import DataSheet
from fathom.prediction.priors import shipped_priors
from fathom.validation.ratings import BENCH

Parameters = dict[str, Parameter]
PAGE = 4096
SLICE, SLICE_OF_LARGEST = 1024, 2048
LARGEST_GB = 32_000
"""From this capacity on the slice is half as large, or a trial would take a minute."""
BUFFER_ROWS = 4
BUFFER_MOST_BYTES = 64 << 20
QLC_INDIRECTION_KIB = 16
QLC_COARSE_GB = 15_000
"""From this capacity on a map of 4 KiB units of QLC takes more DRAM than such drives have."""
_SSD = {
    "read_latency_us": "read_sense_us",
    "seq_read_latency_us": "dram_read_us",
    "write_latency_us": "write_ack_us",
    "seq_read_mbps": "read_unit_ns",
    "rand_read_iops": "command_ns",
    "mixed_iops": "suspend_us",
}
SSD = _SSD | {"seq_write_mbps": "program_us", "rand_write_iops": "gc_page_ns"}
SSD_BEHIND_LINK = _SSD | {"seq_write_mbps": "write_unit_ns", "rand_write_iops": "program_us"}
"""Where the interface bounds sequential writes, random ones have to say how fast the flash is."""
DISK = {"seq_read_mbps": "outer_mbps", "rand_read_iops": "seek_average_read_us"}
READ_AHEAD_BYTES = 1 << 20
"""What a lone sequential reader never catches up with at the rates that sheets imply."""
SUSPEND_US = 300.0
"""Where the search for what a suspended program costs begins."""
LINK = ("pcie_generation", "pcie_lanes", "sata_gbps", "command_slots")
"""Parameters of a link, which are the drive's own."""
ENERGIES = ("link_nj_per_byte", "channel_nj_per_byte", "channel_parity_ratio", "read_sense_uj")


@dataclass(frozen=True)
class Draft:
    """A device before it is fitted."""

    device: Device
    sets: Mapping[str, str]
    """The parameter that each rating sets, by its key. A rating that is not here is compared and sets nothing."""
    of_class: Mapping[str, float]
    """What the class has for parameters that the draft derives from ratings."""


def draft(sheet: DataSheet) -> Draft:
    """Returns the device before it is fitted, and what its ratings set."""
    if sheet.kind == "disk":
        return Draft(_device(sheet), DISK, {})
    of_class = {"program_us": flash_of(sheet).nand.program_us}
    return Draft(_device(sheet), SSD_BEHIND_LINK if fills_link(sheet) else SSD, of_class)


def _device(sheet: DataSheet) -> Device:
    parameters = _disk(sheet) if sheet.kind == "disk" else _ssd(sheet, flash_of(sheet))
    return Device(
        schema="fathom-device/1",
        name=sheet.device_name,
        published=sheet.device_name,
        capacity_bytes=sheet.capacity_bytes,
        identity=DeviceIdentity(
            vendor=sheet.vendor,
            model=f"{sheet.model} {sheet.label.rsplit(' ', 1)[1]}",
            label=sheet.label,
            form_factor=sheet.form_factor,
            interface=sheet.interface_text,
            nand=f"{_nand(sheet)}, taken as {flash_of(sheet).words}" if sheet.kind == "ssd" else None,
            controller=sheet.controller,
        ),
        twin=TwinModel(kind=sheet.kind, bench=BENCH, parameters=parameters),
    )


def _nand(sheet: DataSheet) -> str | None:
    """Returns the NAND in the sheet's words, with its type once; None for a drive without."""
    note = sheet.nand_note or ""
    typed = sheet.nand is None or sheet.nand in note
    return note if note and typed else " ".join(filter(None, (note, sheet.nand))) or None


def published_of(sheet: DataSheet) -> Published:
    """Returns the file of the drive's ratings."""
    return Published(
        schema="fathom-published/1",
        name=sheet.device_name,
        identity=ProductIdentity(
            vendor=sheet.vendor,
            model=sheet.model,
            kind="hdd" if sheet.kind == "disk" else "ssd",
            form_factor=sheet.form_factor,
            interface=sheet.interface_text,
            capacities_gb=(sheet.capacity_gb,),
            nand=_nand(sheet),
            controller=sheet.controller,
            endurance_dwpd=(sheet.endurance_dwpd,) if sheet.endurance_dwpd else (),
            warranty_years=sheet.warranty_years,
            source=sheet.source,
        ),
        spec=(SpecGroup(rows=(sheet.ratings,)),),
    )


def published(value: float, sheet: DataSheet, what: str) -> Parameter:
    """Returns a parameter that the sheet states."""
    return Parameter(
        value=value, basis="published", source=f"data sheet, published/{sheet.device_name}.toml: {what}"
    )


def derived(value: bool | float, source: str) -> Parameter:
    """Returns a parameter that follows from figures."""
    return Parameter(value=value, basis="derived", source=source)


def assumed(value: bool | float | str, source: str) -> Parameter:
    """Returns a parameter that nobody states."""
    return Parameter(value=value, basis="assumed", source=source)


def _like(sheet: DataSheet, leave_out: tuple[str, ...]) -> Parameters:
    """Returns the parameters of the device that the drive is like, as assumptions."""
    other = likeness(sheet)
    assert other.twin is not None
    return {
        name: assumed(one.value, f"as the {other.identity.label}, of the same class ({one.basis} there)")
        for name, one in other.twin.parameters.items()
        if name not in leave_out
    }


def _ssd(sheet: DataSheet, flash: Flash) -> Parameters:
    nand, dies = flash.nand, flash.dies
    base = _like(sheet, LINK)
    own: Parameters = {
        "slice_denominator": assumed(
            SLICE_OF_LARGEST if sheet.capacity_bytes > LARGEST_GB * 10**9 else SLICE,
            "simulated share of the capacity; results do not depend on it (docs/explanation/ssd-twin.md, The slice)",
        ),
        **_link(sheet),
        **_data_path(sheet),
        **_buffer(sheet, nand, dies),
        **_read_ahead(sheet),
        "channels": assumed(flash.channels, "not in the data sheet; as usual for controllers of the class"),
        "dies_per_channel": derived(
            dies // flash.channels,
            f"{flash.words} = {flash.raw_bytes / 1e12:.4g} TB raw for {sheet.capacity_bytes / 1e12:.4g} TB",
        ),
        **{name: assumed(value, nand.source) for name, value in nand.parameters.items()},
        **_programs(sheet, flash),
        "over_provisioning": derived(
            float(f"{flash.usable_spare:.3g}"),
            f"{flash.words} leave {100 * flash.spare:.3g} %, less one die in {PARITY_DIES} for parity, "
            "an assumption for all drives",
        ),
        **_cleaning(sheet, flash),
        **_suspension(sheet),
        **_indirection(sheet),
        **_power(sheet, base, nand),
    }
    return _ordered(base, own)


def _ordered(base: Mapping[str, Parameter], own: Mapping[str, Parameter]) -> Parameters:
    """Returns both, `own` before the base, those that only it has first."""
    first = {name: one for name, one in own.items() if name not in base}
    return {**first, **{name: own.get(name, one) for name, one in base.items()}}


def _link(sheet: DataSheet) -> Parameters:
    if sheet.interface == "PCIe":
        generation, lanes = sheet.pcie_generation or 0, sheet.pcie_lanes
        stated = f"PCIe Gen{generation} x{lanes}"
        return {
            "pcie_generation": published(generation, sheet, stated),
            "pcie_lanes": published(lanes, sheet, stated),
        }
    slots = 32 if sheet.interface == "SATA" else 128
    half = "" if sheet.interface == "SATA" else "; modelled one direction at a time, so mixes come out low"
    return {
        "sata_gbps": published(sheet.line_gbps, sheet, f"{sheet.interface_text}{half}"),
        "command_slots": derived(slots, f"{sheet.interface}: {slots} commands that a drive takes at a time"),
    }


def _data_path(sheet: DataSheet) -> Parameters:
    """Returns the controller's times, by its maxima. A unit of 4 KiB takes its share of the sequential rate. A command
    takes the rest of a random read.
    """
    read_ns = PAGE * 1000 / sheet.seq_read_mbps if sheet.seq_read_mbps else 600.0
    write_ns = min(read_ns, 0.95 * PAGE * 1000 / sheet.seq_write_mbps) if sheet.seq_write_mbps else read_ns
    if fills_link(sheet):
        write_ns = 0.98 * PAGE * 1000 / (sheet.seq_write_mbps or 1.0)
    rated_read_ns = read_ns * sheet.rand_units("read")
    command_ns = 1e9 / sheet.rand_read_iops - rated_read_ns if sheet.rand_read_iops else 10.0
    return {
        "command_ns": derived(
            float(f"{max(command_ns, 10.0):.4g}"),
            f"rated random reads: what {4 * sheet.rand_units('read'):g} KiB of the data path leave of 1 s / IOPS",
        ),
        "read_unit_ns": derived(
            float(f"{read_ns:.4g}"),
            "rated sequential reads: 4096 B / rate" if sheet.seq_read_mbps else "6.8 GB/s",
        ),
        "write_unit_ns": assumed(
            float(f"{write_ns:.4g}"), "the data path of reads, or 5 % above rated writes; not limiting"
        ),
    }


def _buffer(sheet: DataSheet, nand: NandClass, dies: int) -> Parameters:
    row = nand.unit_bytes * dies
    rows = max(2, min(BUFFER_ROWS, BUFFER_MOST_BYTES // row))
    parameters = {
        "write_buffer_bytes": assumed(
            rows * row,
            f"{rows} programming units of every die, what full-speed programming needs; not published",
        )
    }
    if sheet.interface != "PCIe":
        parameters["write_buffer_bytes"] = assumed(
            2 * row,
            "two programming units of every die, the least with which dies program side by side; not published",
        )
    return parameters


def _read_ahead(sheet: DataSheet) -> Parameters:
    """Returns how far the drive reads ahead, where reads in order are rated quicker than flash senses a page."""
    rated_us = sheet.seq_read_latency_us
    if rated_us is None:
        return {}
    return {
        "read_ahead_bytes": assumed(
            READ_AHEAD_BYTES,
            f"reads in order are rated at {rated_us:g} us, so the drive reads ahead; how far is not in the data sheet",
        )
    }


def _programs(sheet: DataSheet, flash: Flash) -> Parameters:
    """Returns program time and power budget. Rated writes set the time where the class leaves room for it. A drive much
    slower than its dies programs fewer of them at once.
    """
    nand, rated, words = flash.nand, sheet.seq_write_mbps or flash.program_mbps, "rated writes"
    if fills_link(sheet) and sheet.rand_write_iops:
        amplified = sheet.rand_write_iops * _units_written(sheet) * PAGE / 1e6 * flash.amplification
        rated, words = (
            max(rated, amplified),
            "rated random writes with the write amplification of the spare area",
        )
    slowest_mbps = flash.program_mbps / shipped_priors().parameters["program_us"].factor
    at_once = flash.dies if rated >= slowest_mbps else max(1, round(rated / nand.program_mbps))
    program_us = float(f"{nand.unit_bytes * at_once / rated:.4g}")
    return {
        "program_us": derived(
            program_us, f"{words} over {at_once} dies at once; {nand.program_us:g} in the class"
        ),
        "programming_dies_max": assumed(at_once, "all of them; program_us carries the rated writes")
        if at_once == flash.dies
        else derived(
            at_once, f"{words}, {rated:,.0f} MB/s, over {nand.program_mbps:g} a die: a power budget"
        ),
    }


def _cleaning(sheet: DataSheet, flash: Flash) -> Parameters:
    """Returns what moving a page costs the controller: at most what rated random writes leave for it."""
    if sheet.rand_write_iops is None or fills_link(sheet):
        return {}
    moved_per_s = sheet.rand_write_iops * _units_written(sheet) * (flash.amplification - 1)
    return {
        "gc_page_ns": derived(
            float(f"{1e9 / moved_per_s:.4g}"),
            "at most: 1 s / (rated random writes x pages moved for each, by the spare area)",
        )
    }


def _units_written(sheet: DataSheet) -> float:
    """Returns how many units of 4 KiB a rated random write programs: its block, or the indirection unit around it."""
    indirection = _indirection(sheet).get("indirection_unit_bytes")
    least = float(indirection.value) / PAGE if indirection else 1.0
    return max(least, sheet.rand_units("write"))


def _suspension(sheet: DataSheet) -> Parameters:
    """Returns how reads and programs get in each other's way, where a rated mix shows it."""
    if sheet.mixed_iops is None:
        return {}
    return {
        "program_max_wait_us": assumed(
            0.0,
            "a suspended program goes on after one read, as in the Samsung PM1743: of the measured drives' two ways "
            "the one that makes mixes as slow as they are rated",
        ),
        "suspend_us": derived(SUSPEND_US, "a start, between those of the Samsung PM1743 and PM9A3"),
    }


def _indirection(sheet: DataSheet) -> Parameters:
    if sheet.indirection_kib:
        return {
            "indirection_unit_bytes": published(
                sheet.indirection_kib * 1024, sheet, f"indirection unit of {sheet.indirection_kib} KiB"
            )
        }
    if sheet.nand == "QLC" and sheet.capacity_gb > QLC_COARSE_GB:
        return {
            "indirection_unit_bytes": assumed(
                QLC_INDIRECTION_KIB * 1024,
                "not in the data sheet; a map of 4 KiB units would need 1 GB of DRAM a TB",
            )
        }
    return {}


def _idle(sheet: DataSheet) -> Parameters:
    return {"idle_w": published(sheet.power_idle_w, sheet, "idle power")} if sheet.power_idle_w else {}


def _power(sheet: DataSheet, base: Parameters, nand: NandClass) -> Parameters:
    """Returns what rated power leaves for a byte over the link and for a program, less idle and the class's rest."""
    own = _idle(sheet)
    known = {name: float((own.get(name) or base[name]).value) for name in ("idle_w", *ENERGIES)}
    read_w, write_w = sheet.power_read_w, sheet.power_write_w or sheet.power_active_w
    channel_nj = known["channel_nj_per_byte"] * known["channel_parity_ratio"]
    if read_w and sheet.seq_read_mbps:
        sense_nj = 1000 * known["read_sense_uj"] / float(nand.parameters["nand_page_bytes"])
        link_nj = 1000 * (read_w - known["idle_w"]) / sheet.seq_read_mbps - channel_nj - sense_nj
        if link_nj > 0:
            known["link_nj_per_byte"] = float(f"{link_nj:.3g}")
            words = (
                f"rated {read_w:g} W reading {sheet.seq_read_mbps:,.0f} MB/s less idle, channels and senses"
            )
            own["link_nj_per_byte"] = derived(known["link_nj_per_byte"], words)
    if write_w and sheet.seq_write_mbps:
        left_nj = (
            1000 * (write_w - known["idle_w"]) / sheet.seq_write_mbps - known["link_nj_per_byte"] - channel_nj
        )
        if left_nj > 0:
            words = (
                f"rated {write_w:g} W writing {sheet.seq_write_mbps:,.0f} MB/s less idle, link and channels"
            )
            own["program_uj"] = derived(float(f"{left_nj * nand.unit_bytes / 1000:.3g}"), words)
    return own


def _disk(sheet: DataSheet) -> Parameters:
    rate = sheet.seq_read_mbps or 0.0
    own: Parameters = {
        "outer_mbps": published(rate, sheet, f"{rate:g} MB/s sustained"),
        "rpm": published(sheet.rpm, sheet, f"{sheet.rpm} rpm")
        if sheet.rpm
        else assumed(7200, "not in the data sheet; usual for 3.5 inch"),
        **_idle(sheet),
    }
    if sheet.platters:
        own["heads"] = derived(2 * sheet.platters, f"{sheet.platters} platters, both sides")
    if sheet.cache_mb:
        half = round(sheet.cache_mb * 10**6 / 2)
        own["write_cache_bytes"] = derived(half, f"half of the rated {sheet.cache_mb:g} MB of cache")
    if sheet.interface == "SAS":
        own["interface_mbps"] = derived(
            0.95 * sheet.line_gbps * 100, f"{sheet.interface_text}: 8b/10b and frames leave 95 %"
        )
        own["queue_depth"] = assumed(128, "not in the data sheet; SAS disks take 128 commands or more")
    return _ordered(_like(sheet, ()), own)
