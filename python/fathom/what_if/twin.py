"""The twin as pages hold it: crates/web as WebAssembly, which `tools/build-wasm` writes beside this file."""

import base64
import gzip
from functools import cache
from importlib.resources import files


@cache
def packed() -> bytes:
    """Returns the module, compressed by gzip."""
    return (files("fathom.what_if") / "twin.wasm.gz").read_bytes()


def module() -> bytes:
    """Returns the module."""
    return gzip.decompress(packed())


def in_page() -> str:
    """Returns the compressed module as text for an HTML file, in base64."""
    return base64.b64encode(packed()).decode()
