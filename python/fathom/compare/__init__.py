"""Measurements against a base: what became better or worse, how surely, and whether a stated limit is kept."""
