"""What can be tested: targets and their identity, discovery, safety, the machine around them, telemetry.

Its modules are imported one by one, so that `fathom --help` loads none of them. docs/reference/safety.md says
what is refused and why.
"""
