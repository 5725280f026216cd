"""Judges what was measured: steadiness, uncertainty, percentiles, validity, findings. Pure functions over tables."""
