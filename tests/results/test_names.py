"""Loads of a file that others wrote get names of their own."""

from fathom.results.reading import LONGEST_NAME, Names


def test_names_that_are_taken_get_numbers_also_where_they_are_as_long_as_names_may_be() -> None:
    given = Names()
    names = [given.unique(text) for text in ["a", "a", "a-2", "a", *["x" * 70] * 12]]
    assert names[:4] == ["a", "a-2", "a-2-2", "a-3"]
    assert len(set(names)) == len(names)
    assert max(map(len, names)) == LONGEST_NAME
