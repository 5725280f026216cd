"""A hook of mkdocs: puts a page with a twin inside into the site, and the gallery where `make gallery` has made it."""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from fathom.what_if.page import render

DEMO = "demo/what-if.html"
"""Where the site has the page."""
TWIN = "twin:samsung-pm9a3-7.68tb"
GALLERY = Path(__file__).parents[1] / "target" / "gallery"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds what is made and not written."""
    files.append(File.generated(config, DEMO, content=render(TWIN)))
    for path in sorted(GALLERY.glob("*")):
        files.append(File.generated(config, f"gallery/{path.name}", abs_src_path=str(path)))
    return files
