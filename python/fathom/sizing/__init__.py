"""How many drives a need takes: `needs` reads the needs, `drive` the figures of one drive, and `size` counts."""
