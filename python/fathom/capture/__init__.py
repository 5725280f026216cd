"""Captures: what the kernel's block trace says that disks are asked, as a trace of `fathom.traces`."""
