"""What a column of a run's tables is, and how rows become one by the rules of their columns.

A row class names its columns; each is annotated with its `Column`. The Arrow schema follows from it.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin

import pyarrow as pa

Row = TypeVar("Row")


class Rule(Enum):
    """How the values of several rows become one. The value is the word that the documentation uses."""

    SAME = "same"
    """All rows have it; null where they differ."""
    SUM = "sum"
    """Null as soon as one row has none."""
    COUNT = "count"
    """The sum; a null is a count of none."""
    MEAN = "mean"
    """Unweighted; null as soon as one row has none."""
    LARGEST = "largest"
    """The largest of the rows that have one."""
    LEAST = "least"
    """The least of the rows that have one."""
    COMMONEST = "most frequent"
    """The most frequent; the first of several."""
    ALL = "all"
    """True where all are, false where one is false, else null."""
    COMPUTED = "computed"
    """Rows do not suffice: whoever pools computes it from seconds or histograms."""
    NULL = "null"
    """There is none for several rows."""


@dataclass(frozen=True)
class Column:
    """One column, whichever tables have it.

    `repeats`, `operations` and `rounds` are its rules over repeats of a run, the operations of a step, and the last
    rounds of a step. `is_fact` columns stay where too much I/O failed for figures.
    """

    unit: str
    meaning: str
    repeats: Rule
    operations: Rule
    rounds: Rule
    is_fact: bool = False
    bits: int = 64


@dataclass(frozen=True)
class Named:
    """A column at its place in a table.

    `type` is `str`, `int`, `float`, `bool`, a list of one, or a data class, which becomes a struct.
    """

    name: str
    type: Any
    column: Column
    may_be_null: bool

    @property
    def arrow(self) -> pa.DataType:
        """The type in Parquet."""
        if self.type is int and self.column.bits == 32:
            return pa.int32()
        return _arrow(self.type)

    @property
    def is_struct(self) -> bool:
        """Whether its values have parts, which CSV has no form for."""
        return is_dataclass(self.type)


def _arrow(kind: Any) -> pa.DataType:  # noqa: ANN401
    if get_origin(kind) is list:
        return pa.list_(pa.string())
    if is_dataclass(kind):
        stored = [one for one in fields(kind) if one.metadata.get("is_stored", True)]
        return pa.struct([(one.name, _arrow(_without_none(one.type))) for one in stored])
    if issubclass(kind, str):
        return pa.string()
    return {int: pa.int64(), float: pa.float64(), bool: pa.bool_()}[kind]


def _without_none(kind: Any) -> Any:  # noqa: ANN401
    kinds = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    [only] = [one for one in kinds if one is not NoneType]
    return only


@cache
def columns_of(row: type) -> Mapping[str, Named]:
    """Returns the columns of a row class by name, in order. Raises TypeError for a field without a `Column`."""
    return {field.name: _named(field.name, field.type) for field in fields(row)}


def _named(name: str, annotation: Any) -> Named:  # noqa: ANN401
    column = next((one for one in getattr(annotation, "__metadata__", ()) if isinstance(one, Column)), None)
    if column is None:
        raise TypeError(f"column {name} has no definition")
    (inner, *_) = get_args(annotation)
    return Named(name, _without_none(inner), column, may_be_null=NoneType in get_args(inner))


def schema_of(row: type) -> pa.Schema:
    """Returns the Arrow schema of a row class."""
    return pa.schema([(one.name, one.arrow) for one in columns_of(row).values()])


def combined(rows: Sequence[Row], rule_of: Callable[[Column], Rule], computed: Mapping[str, object]) -> Row:
    """Returns one row from several, each column by its rule; `computed` has the columns that need more than the rows.

    Raises KeyError where `computed` lacks such a column or has another, and ValueError where rows differ in a column
    that cannot be null.
    """
    columns = columns_of(type(rows[0]))
    wanted = {name for name, one in columns.items() if rule_of(one.column) is Rule.COMPUTED}
    if wanted != computed.keys():
        raise KeyError(f"no rule for {', '.join(sorted(wanted ^ computed.keys()))}")
    values = dict(computed)
    for name, one in columns.items():
        if name not in wanted:
            values[name] = _by(rule_of(one.column), [getattr(row, name) for row in rows])
            if values[name] is None and not one.may_be_null:
                raise ValueError(f"rows differ in {name}")
    return type(rows[0])(**values)


def _by(rule: Rule, values: list[Any]) -> object:
    known = [value for value in values if value is not None]
    if rule is Rule.NULL:
        return None
    if rule is Rule.SAME:
        return values[0] if all(value == values[0] for value in values) else None
    if rule is Rule.COMMONEST:
        return Counter(values).most_common(1)[0][0]
    if rule is Rule.ALL:
        return False if False in values else None if None in values else True
    if rule in (Rule.SUM, Rule.MEAN) and len(known) < len(values):
        return None
    reduce: Callable[[list[Any]], object] = {
        Rule.SUM: sum,
        Rule.COUNT: sum,
        Rule.MEAN: lambda numbers: sum(numbers) / len(numbers),
        Rule.LARGEST: max,
        Rule.LEAST: min,
    }[rule]
    return reduce(known) if known else None
