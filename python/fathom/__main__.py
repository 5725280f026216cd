"""`python -m fathom` is `fathom`."""

from fathom.cli import main

main()
