"""Standard streams that the caller closed."""

import os
import sys


def open_closed_streams() -> None:
    """Opens each standard stream that is closed on the null device.

    A file or device that is opened later would else get the stream's number, and all that is printed there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The least free number, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(number, "r" if name == "stdin" else "w", closefd=False))
