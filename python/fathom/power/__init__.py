"""Energy of real targets from a power meter that the user names: a CSV file that grows, or a Prometheus server.

A drive's own power sensor is read in `fathom.targets.telemetry`; a twin accounts for its energy itself.
"""
