"""Compares measurements with a base: what became better or worse, how surely, and whether a limit is kept."""
