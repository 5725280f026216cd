"""The options of one fio job as a conversion reads them, and notes on those that it does not apply."""

import re

from fathom.errors import UsageError
from fathom.imports.draft import Draft
from fathom.imports.fio_file import FioJob, of_each
from fathom.imports.fio_options import OPTIONS, REPORTS, FioOption, Use
from fathom.imports.units import POWERS, SECONDS

_NUMBER = re.compile(r"\d{1,15}(\.\d{1,15})?%?")
#: Options that any number but 0 switches on (`FIO_OPT_STR_SET` of fio's `options.c`). Others take 0 and 1 alone.
_SWITCHES = frozenset(("exitall", "norandommap", "time_based", "zero_buffers"))
_ORDER = ("read", "write", "trim")


class GivenOptions:
    """The options of a job. It records which ones are read: an applied one that nobody reads is an internal fault."""

    def __init__(self, job: FioJob, draft: Draft) -> None:
        """Holds a job's options, with notes for a draft. Raises UsageError for an option that would make it another
        test.
        """
        self._job = job
        self._draft = draft
        self._asked: set[str] = set()
        self._kb_base = 1000 if self.text("kb_base", "1024") in ("1000", "si", "SI") else 1024
        for key, one in job.options.items():
            option = OPTIONS[key]
            if option.use is Use.APPLIED or one.value in option.neutral:
                continue
            if option.use is Use.REFUSED:
                raise self.error(key, f"{one.value}: {option.says}", "leave it out")
            self._note_use(option, one.value, one.place)

    def _note_use(self, option: FioOption, value: str, place: str) -> None:
        if option.says == REPORTS:
            self._draft.set_aside(option.name, place)
        else:
            self._draft.note(f"{place}: {option.name}={value}: {option.says}")

    def has(self, key: str) -> bool:
        """Returns whether it is given."""
        self._asked.add(key)
        return key in self._job.options

    def text(self, key: str, default: str) -> str:
        """Returns the value as written."""
        return self._job.options[key].value if self.has(key) else default

    def flag(self, key: str, *, usual: bool = False) -> bool:
        """Returns whether it is on. Raises UsageError."""
        value = self.text(key, str(int(usual)))
        if key in _SWITCHES and value.isdecimal():
            return int(value) != 0
        if value not in ("0", "1"):
            raise self.error(key, f"{value} is neither 0 nor 1", "write one of them")
        return value == "1"

    @property
    def is_timed(self) -> bool:
        """Whether `time_based` is on. Without a runtime fio takes no notice of it (`fixup_options` of its `init.c`)."""
        timed = self.flag("time_based")
        if timed and not self.seconds("runtime"):
            self.note("time_based", "has no effect without a runtime, and none in fio either")
            return False
        return timed

    def later(self, first: str, second: str) -> str | None:
        """Returns which of two options counts: the one given later."""
        given = [key for key in self._job.options if key in (first, second)]
        self._asked |= {first, second}
        return given[-1] if given else None

    def number(self, key: str, default: float) -> float:
        """Raises UsageError."""
        return self.number_of(self.text(key, f"{default:g}"), key)

    def number_of(self, text: str, key: str) -> float:
        """Returns a part of an option's value as a number, 0 or more. Raises UsageError."""
        if not _NUMBER.fullmatch(text.strip()):
            raise self.error(key, f"{text or 'nothing'} is not a number", "write one")
        return float(text.strip().rstrip("%"))

    def whole(self, key: str, default: int, least: int = 0) -> int:
        """Raises UsageError."""
        value = self.size_of(self.text(key, str(default)), key)
        if value < least:
            raise self.error(key, f"{value} is too small", f"write {least} or more")
        return value

    def size(self, key: str) -> int:
        """Returns the value in bytes. Raises UsageError."""
        return self.size_of(self.text(key, "0"), key)

    def size_of(self, text: str, key: str) -> int:
        """Returns a part of an option's value in bytes, by the job's `kb_base`. Raises UsageError."""
        if zones := re.fullmatch(r"(\d{1,9})z", text.strip().lower()):
            return int(zones[1]) * self._zone_bytes(key)
        if re.fullmatch(r"0x[0-9a-f]{1,12}", text.strip().lower()):
            return int(text, 16)
        found = re.fullmatch(r"(\d{1,15})([kmgtp]?)(ib|i|b)?", text.strip().lower())
        if not found:
            raise self.error(key, f"{text or 'nothing'} is not a size", 'expected one like "4k" or "10g"')
        other_base = found[2] and found[3] == "ib"
        base = (1024 if self._kb_base == 1000 else 1000) if other_base else self._kb_base
        return int(found[1]) * base ** POWERS[found[2]]

    def _zone_bytes(self, key: str) -> int:
        """Returns the size of a zone. Raises UsageError where only the device knows it."""
        counts = key in ("size", "io_size", "offset", "offset_increment")
        if counts and self.text("zonemode", "none") == "zbd" and (given := self.size("zonesize")):
            return given
        raise self.error(
            key, "counts zones, whose size only the device knows", "write bytes, or give zonesize"
        )

    def seconds(self, key: str, unit: str = "s") -> float:
        """Returns a duration, of `unit` where it says none; 0 where it is not given. Raises UsageError."""
        text = self.text(key, "0")
        found = re.fullmatch(r"(\d{1,12})([a-z]*)", text.strip().lower())
        scale = SECONDS.get((found[2] or unit) if found else "")
        if not found or scale is None:
            raise self.error(key, f"{text} is not a duration", 'expected one like "60" or "10m"')
        return int(found[1]) * scale

    def per_op(self, key: str, default: str, ops: tuple[str, ...]) -> dict[str, str]:
        """Returns a value for each operation: `reads,writes,trims`. The last stands for those that follow."""
        given = of_each(self.text(key, default))
        return {op: given[_ORDER.index(op)] or default for op in ops}

    def place(self, key: str) -> str:
        """Returns the place of the option, or of its job."""
        one = self._job.options.get(key)
        return f"{one.place}: {key}" if one else self._job.place

    def error(self, key: str, what: str, hint: str) -> UsageError:
        """Returns the error that refuses the option."""
        return UsageError(f"{self.place(key)}: {what}", hint)

    def note(self, key: str, what: str) -> None:
        """Adds a note on how the method differs."""
        self._draft.note(f"{self.place(key)}: {what}")

    @property
    def forgotten(self) -> list[str]:
        """Options that the table calls applied, and that no conversion has read."""
        return [
            key for key in self._job.options if OPTIONS[key].use is Use.APPLIED and key not in self._asked
        ]

    def idle(self, key: str, why: str) -> None:
        """Adds a note that a given option has no effect in fio either."""
        if self.has(key):
            self.note(key, f"{self.text(key, '')}: {why}")
