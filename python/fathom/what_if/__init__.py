"""The twin inside a page: sliders for a drive's parts and its load, simulated in the browser while they move."""
