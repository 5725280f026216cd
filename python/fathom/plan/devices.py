"""Several devices of a trace on several targets: one stream for each, all on one clock."""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from fathom.errors import UsageError
from fathom.load.binding import split_name
from fathom.load.resolve import at_once, has_parts
from fathom.method.method import Method
from fathom.output.text import distinct, some_of

_NO_NAME = re.compile(r"[^a-z0-9.-]+")


def together(
    steps: Sequence[Mapping[str, object]], devices: Sequence[str], longest: int
) -> dict[str, object]:
    """Returns the steps of the devices as one step, in which each device's job is a stream on its own target.

    It ends by the time of the one that is `longest`, where that has one.
    """
    first = dict(steps[0])
    if len(steps) == 1:
        return first
    jobs = [cast("Mapping[str, Mapping[str, object]]", step)["job"] for step in steps]
    ends = [cast("Mapping[str, str]", job["until"]) for job in jobs]
    streams = [
        {
            **job,
            "name": name,
            "targets": [number],
            "until": {key: value for key, value in end.items() if key != "time"},
        }
        for number, (job, end, name) in enumerate(zip(jobs, ends, stream_names(devices), strict=True), 1)
    ]
    time = {key: value for key, value in ends[longest].items() if key == "time"}
    return first | {"job": {"streams": streams} | ({"until": time} if time else {})}


def stream_names(devices: Sequence[str]) -> list[str]:
    """Returns a name of the job language for each device: `259-0` for `259:0`. Equal ones get a number."""
    return distinct(_NO_NAME.sub("-", device.lower()).lstrip("-.") or "device" for device in devices)


def placed(method: Method, texts: Sequence[str]) -> Sequence[str]:
    """Returns the targets of a command line as one for the devices of a trace, where the method replays several.

    `DEVICE=TARGET` names each device's; without names, targets are in the order of the devices. Arrays and others with
    parts are targets as they are. Raises UsageError where devices and targets do not meet.
    """
    numbers = method.steps[-1].job.stream_targets
    names = sorted(numbers, key=numbers.__getitem__)
    if not names or any(map(has_parts, texts)):
        return texts
    pairs = [split_name(text) for text in texts]
    named = [name for name, _ in pairs if name is not None]
    if not named and len(texts) == len(names):
        return [at_once([text for _, text in pairs])]
    targets = {name: text for name, text in pairs if name is not None}
    if len(named) == len(texts) == len(names) and targets.keys() == set(names):
        return [at_once([targets[name] for name in names])]
    raise UsageError(
        f"{method.title}: it has several devices: {some_of(names)}",
        f"give each its target ({names[0]}=TARGET), or name one by --trace-device",
    )
