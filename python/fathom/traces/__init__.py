"""Recorded I/O of others and of Fathom: reads traces of many formats in bounded memory, and writes them.

A trace is a stream of `Batch`; its reference is docs/reference/trace.md. Nothing here touches a device.
"""
