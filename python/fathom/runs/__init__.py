"""The run directory: write, read, query. Its format is documented in docs/reference/run-directory.md."""
