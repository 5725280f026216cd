"""Whether a drive whose zones are written in order can take the writes of a trace, wherever they were recorded."""

import json

from fathom.errors import UsageError

OTHER_DRIVE = "take a drive without such zones, unless the program can write zones in order"


def check_order(parameters_json: str, *, writes: bool, name: str = "", hint: str = OTHER_DRIVE) -> None:
    """Raises UsageError where a trace writes, and the zones of a twin with these parameters take writes in order only.

    The twin itself would advise other patterns, which a trace does not have.
    """
    if writes and json.loads(parameters_json).get("zone_bytes"):
        place = f"{name}: " if name else ""
        raise UsageError(
            f"{place}its zones take writes at their write pointers only, and a trace writes where it was recorded",
            hint,
        )
