"""The I/O of a Vdbench workload (`wd`) with what a run says of it: which operations, how large, in which order.

Meanings and defaults are those of `WD_entry` and `WG_entry` of Vdbench 5.04.06.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fathom._core import BLOCK_BYTES_MAX, BLOCK_SIZES_MAX
from fathom.imports.vdbench_file import Definition, GivenKey
from fathom.method.toml_text import Value, size_text

#: Block sizes with their shares.
Sizes: TypeAlias = tuple[tuple[int, float], ...]
#: Values of a run's loops, by key.
Chosen: TypeAlias = Mapping[str, float]

_XFERSIZE: Sizes = ((4096, 100.0),)


@dataclass(frozen=True)
class Workload:
    """A workload of one run, or its part of the I/O where storage of one kind has a part."""

    definition: Definition
    chosen: Chosen
    part: float = 1.0

    @property
    def reads(self) -> float:
        """Percent of reads. Raises UsageError."""
        if "forrdpct" in self.chosen:
            return _percent(self.chosen["forrdpct"], self.definition, "rdpct")
        given = self.definition.get("readpct", "writepct")
        if given is None:
            return 100.0
        share = _percent(float(int(given.number())), self.definition, given.key.name)
        return share if given.key.name == "readpct" else 100.0 - share

    @property
    def sizes(self) -> Sizes:
        """Block sizes with their shares. Raises UsageError."""
        if "forxfersize" in self.chosen:
            return ((int(self.chosen["forxfersize"]), 100.0),)
        given = self.definition.get("xfersize")
        return sizes_of(given) if given else _XFERSIZE

    @property
    def seeks(self) -> float:
        """Percent of requests that go anywhere; below 0: none, and the end of the storage ends the run."""
        if "forseekpct" in self.chosen:
            return self.chosen["forseekpct"]
        given = self.definition.get("seekpct")
        return seeks_of(given) if given else 100.0

    @property
    def is_random(self) -> bool:
        """Whether every request goes anywhere."""
        return self.seeks >= 100

    @property
    def skew(self) -> float:
        """Its share of the I/O in percent; 0: not said."""
        return self.definition.number("skew", 0.0) * self.part

    @property
    def rate(self) -> float:
        """Its own rate; 0: none."""
        given = self.definition.get("iorate")
        return given.number() * self.part if given and given.text.lower() != "max" else 0.0

    def pattern(self, threads: int) -> dict[str, Value]:
        """Returns pattern and position: all threads of a storage go on from one, reads and writes alike."""
        if self.is_random:
            return {"pattern": "uniform"}
        mixed = 0 < self.seeks < 100
        pattern: Value = {"random": f"{self.seeks:g}%"} if mixed else "sequential"
        shared = threads > 1
        if mixed and 0 < self.reads < 100:
            threads_ = "shared" if shared else "part"
            return {"pattern": pattern, "position": {"threads": threads_, "operations": "together"}}
        return {"pattern": pattern, **({"position": "shared"} if shared else {})}


def _percent(value: float, definition: Definition, name: str) -> float:
    if value > 100 and (given := definition.get(name)):
        raise given.error("more than 100 percent", "write 0 to 100")
    return min(value, 100.0)


def sizes_of(given: GivenKey) -> Sizes:
    """Returns sizes of `xfersize=`: one, pairs with percent, or all multiples from a least to a most. Raises
    UsageError.
    """
    values = given.numbers() if len(given.values) == 1 else [given.number(text) for text in given.values]
    if len(values) == 1:
        sizes: Sizes = ((int(values[0]), 100.0),)
    elif len(values) == 3:
        sizes = _multiples(given, *(int(value) for value in values))
    elif len(values) % 2:
        raise given.error("sizes and percent are no pairs", "such as (4k,50,8k,50)")
    else:
        sizes = tuple(
            (int(size), share) for size, share in zip(values[::2], values[1::2], strict=True) if share
        )
        if round(sum(values[1::2])) != 100:
            raise given.error(f"the percent add up to {sum(values[1::2]):g}", "make them 100")
    check_blocks(given, [size for size, _ in sizes])
    if len(sizes) > BLOCK_SIZES_MAX:
        raise given.error(f"{len(sizes)} sizes, and a job has {BLOCK_SIZES_MAX} at most", "list fewer")
    return tuple(
        sorted({size: sum(share for one, share in sizes if one == size) for size, _ in sizes}.items())
    )


def check_blocks(given: GivenKey, sizes: Sequence[int]) -> None:
    """Raises UsageError where one of the sizes, in bytes, is none of a block."""
    for size in sizes:
        if size % 512 or not 0 < size <= BLOCK_BYTES_MAX:
            raise given.error(f"{size} bytes are no size of a block", "a multiple of 512 up to 1g")


def _multiples(given: GivenKey, least: int, most: int, step: int) -> Sizes:
    """Returns every size from the least to the most by a step, equally often."""
    if least >= most or step <= 0 or step % 512:
        raise given.error("expected (least,most,step), the step a multiple of 512", "such as (4k,64k,4k)")
    count = (most - least) // step + 1
    if count > BLOCK_SIZES_MAX:
        raise given.error(f"{count} sizes, and a job has {BLOCK_SIZES_MAX} at most", "take a larger step")
    return tuple((least + number * step, 100.0 / count) for number in range(count))


def seeks_of(given: GivenKey) -> float:
    """Returns the percentage of `seekpct=`. Raises UsageError."""
    if len(given.values) > 1:
        raise given.error("a distribution of its own", "use seekpct=random")
    text = given.text
    if text == "eof" or re.fullmatch(r"-0*[1-9]\d*", text):
        return -1.0
    if text and "sequential".startswith(text):
        return 0.0
    if text and "random".startswith(text):
        return 100.0
    if text and "poisson".startswith(text):
        raise given.error("a distribution of its own", "use seekpct=random")
    return min(given.number(), 100.0)


def mix_of(parts: Sequence[tuple[Workload, float]]) -> dict[str, Value]:
    """Returns mix and blocks of workloads that draw from one region at random, by their shares of the I/O."""
    sizes: dict[str, dict[int, float]] = {"read": {}, "write": {}}
    for workload, share in parts:
        whole = sum(weight for _, weight in workload.sizes)
        for op, percent in (("read", workload.reads), ("write", 100.0 - workload.reads)):
            for size, weight in workload.sizes:
                amount = share * percent * weight / whole
                if amount > 0:
                    sizes[op][size] = sizes[op].get(size, 0.0) + amount
    total = sum(sum(of_op.values()) for of_op in sizes.values())
    used = {op: of_op for op, of_op in sizes.items() if of_op}
    blocks = {op: _block(of_op) for op, of_op in used.items()}
    mix: Value = {op: round(100 * sum(of_op.values()) / total, 6) for op, of_op in used.items()}
    alike = len({str(block) for block in blocks.values()}) == 1
    return {
        "mix": next(iter(used)) if len(used) == 1 else mix,
        "block": next(iter(blocks.values())) if alike else blocks,
    }


def _block(sizes: Mapping[int, float]) -> Value:
    if len(sizes) == 1:
        return size_text(next(iter(sizes)))
    whole = sum(sizes.values())
    return [
        {"size": size_text(size), "share": round(100 * share / whole, 6)}
        for size, share in sorted(sizes.items())
    ]
