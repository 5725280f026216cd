"""Rows of a run's tables by target and step, a part of a table at a time, so that no long run fills the memory."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


def coded(column: pa.ChunkedArray) -> tuple[Codes, list[str | None]]:
    """Returns the texts of a column as numbers, and the text of each number; a null has one too."""
    whole = column.combine_chunks()
    array = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    found = array if isinstance(array, pa.DictionaryArray) else array.dictionary_encode()
    texts = found.dictionary.to_pylist()
    if found.null_count:
        indices, texts = found.indices.fill_null(len(texts)), [*texts, None]
    else:
        indices = found.indices
    return indices.to_numpy().astype(np.int64), texts


def stretches(part: pa.Table) -> Iterator[tuple[str | None, str, slice]]:
    """Yields (target, step, rows) of each stretch of rows that have both in common, in the order of the rows."""
    if not part.num_rows:
        return
    (targets, target_names), (steps, step_names) = coded(part["target"]), coded(part["step"])
    both = targets * len(step_names) + steps
    edges = [0, *(np.flatnonzero(np.diff(both)) + 1).tolist(), part.num_rows]
    for start, end in pairwise(edges):
        step = step_names[steps[start]]
        assert step is not None, "a run's tables have no row without a step"
        yield target_names[targets[start]], step, slice(start, end)


def joined(pieces: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """Returns pieces of two columns as the two columns."""
    starts, values = zip(*pieces, strict=True)
    return np.concatenate(starts), np.concatenate(values)
