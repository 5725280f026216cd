"""What physics allows a target at most: its link, and for a twin what its dies together can program and sense.

A twin is known by its parameters, a real device only by its link: drives do not report how many dies they have.
"""

from contextlib import suppress

from fathom.analysis.surprises import Physics
from fathom.analysis.validity import link_mbps
from fathom.catalog.pcie import link_of
from fathom.runs.document import TargetRecord

SATA_ENCODING = 8 / 10
"""Serial ATA Revision 3.x: 8b/10b."""


def physics_of(target: TargetRecord) -> Physics:
    """Returns the target's ceilings; those that are not known are None."""
    if target.kind != "twin" or target.catalog is None:
        return Physics(link_mbps(target))
    from fathom.catalog import CatalogError, load_device

    twin = None
    with suppress(CatalogError):
        twin = load_device(target.catalog).twin
    if twin is None or twin.kind != "ssd":
        return Physics()
    values = {name: parameter.value for name, parameter in twin.parameters.items()}

    def value(name: str) -> float:
        return float(values[name])

    if "sata_gbps" in values:
        label, raw = f"SATA {value('sata_gbps'):g} Gb/s", value("sata_gbps") * 1e9 * SATA_ENCODING / 8
    else:
        label, raw = link_of(f"{value('pcie_generation'):g}x{value('pcie_lanes'):g}")
    dies = value("channels") * value("dies_per_channel")
    program_bytes = value("planes_per_die") * value("nand_page_bytes") * value("pages_per_program")
    at_once = min(dies, value("programming_dies_max"))
    sensing = dies * (value("planes_per_die") if values["independent_plane_reads"] else 1)
    return Physics(
        link_mbps=raw / 1e6,
        link=f"its {label}",
        program_mbps=at_once * program_bytes / value("program_us"),
        senses_per_s=sensing / value("read_sense_us") * 1e6,
    )
