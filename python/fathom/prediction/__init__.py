"""What a twin's figure is worth: the interval that a measurement of the drive would lie in, from published misses."""
