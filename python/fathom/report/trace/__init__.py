"""A trace's page and its summary in the terminal."""

from fathom.report.trace.page import write_page
from fathom.report.trace.terminal import print_profile, profile_json

__all__ = ["print_profile", "profile_json", "write_page"]
