"""The twin inside a page: sliders for the parts of a drive or a system, and for its load."""
