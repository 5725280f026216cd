"""Reports from run directories alone: an offline HTML page, JSON, CSV, and a table in the terminal.

Nothing here touches a target or measures anything; whatever it says was in the run directory or in the catalogue.
"""

from fathom.report.built import build
from fathom.report.export import run_json, runs_csv, runs_json
from fathom.report.page import REPORT, Edition, check_place, write_built, write_html
from fathom.report.terminal import print_built, print_method_answers, print_table

__all__ = [
    "REPORT",
    "Edition",
    "build",
    "check_place",
    "print_built",
    "print_method_answers",
    "print_table",
    "run_json",
    "runs_csv",
    "runs_json",
    "write_built",
    "write_html",
]
