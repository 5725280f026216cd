"""The fixtures of `others.py`, for all tests in this folder."""

from others import fathom, fio

__all__ = ["fathom", "fio"]
