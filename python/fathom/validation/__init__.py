"""Twins against published results: which row is imitated by which job, how far the twin is off, and fitting it.

`cases` turns published rows into trials, `trial` runs one in virtual time, `comparison` compares, `validate` does all
of it for whole devices. `calibrate` fits calibrated parameters to calibration rows by `search`. Touches no
real device.
"""
