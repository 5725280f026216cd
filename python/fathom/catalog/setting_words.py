"""What a user has set of a twin, in words of the field: `28 % over-provisioning` for `op=0.28`."""

from fathom.catalog.settings import ALL_MEMBERS, COUNT, MEMBER, SHORT, split
from fathom.output.text import digits, percent, size

_SETTLED, _SPARE = "settled_share", "over_provisioning"
_UNITS = {
    "_us": "us",
    "_ns": "ns",
    "_mbps": "MB/s",
    "_gbps": "Gb/s",
    "_mts": "MT/s",
    "_w": "W",
    "_uj": "uJ",
}
_NAMES = {
    "gc": "garbage collection",
    "dram": "DRAM",
    "ecc": "ECC",
    "nand": "NAND",
    "pcie": "PCIe",
    "cpu": "CPU",
}


def labelled(label: str, name: str) -> str:
    """Returns a device's label with what its name sets of its twin: `PM9A3 7.68TB (settled)`."""
    settings = split(name)[1]
    return f"{label} ({', '.join(map(in_words, settings.split(',')))})" if settings else label


def in_words(setting: str) -> str:
    """Returns one setting, `KEY=VALUE`, in words. A value that is none of its key's is shown as it was written."""
    key, _, value = setting.partition("=")
    drive, dot, own = key.rpartition(".")
    key = SHORT.get(own, own)
    if dot and key == COUNT:
        return f"{value} x {drive}"
    words = _of_key(key, value)
    return words if not dot else f"{'each drive' if drive == ALL_MEMBERS else drive} {words}"


def _of_key(key: str, value: str) -> str:
    if key == MEMBER:
        return f"{MEMBER} {value} of its ensemble"
    if value in ("true", "false"):
        return f"{'with' if value == 'true' else 'without'} {_named(key)}"
    try:
        number = float(value)
    except ValueError:
        return f"{_named(key)} {value}"
    if key == _SETTLED:
        return {0.0: "fresh", 1.0: "settled"}.get(number, f"{percent(number, 'g')} settled")
    if key == _SPARE:
        return f"{percent(number, '.4g')} over-provisioning"
    if key.endswith("_share"):
        return f"{_named(key.removesuffix('_share'))} {percent(number, '.4g')}"
    if key.endswith("_bytes"):
        return f"{_named(key.removesuffix('_bytes'))} {size(number)}"
    for suffix, unit in _UNITS.items():
        if key.endswith(suffix):
            return f"{_named(key.removesuffix(suffix))} {digits(number, 4)} {unit}"
    return f"{_named(key)} {value}"


def _named(key: str) -> str:
    return " ".join(_NAMES.get(word, word) for word in key.split("_"))
