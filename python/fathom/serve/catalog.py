"""The pages of the catalogue: its list, one for each entry, and one to play with a twin."""

from fastapi import FastAPI, Response

from fathom.catalog import Kind, find
from fathom.serve.catalog_view import GROUPS, SHOWN, entry_view, listed
from fathom.serve.folder import NoRunError
from fathom.serve.pages import entry_address, show, whole_page
from fathom.serve.settings import Settings
from fathom.what_if.page import render, title_of
from fathom.what_if.played import PREFIX


def add_catalog(app: FastAPI, settings: Settings) -> None:
    """Adds the pages of the catalogue."""

    @app.get("/catalog")
    def _list() -> Response:
        groups = listed()
        twins = sum(len(group.rows) for group in groups if group.heading in dict(GROUPS))
        return show("catalog.html.jinja", settings, here="/catalog", groups=groups, twins=twins)

    @app.get("/catalog/devices/{name}/what-if")
    def _what_if(name: str) -> Response:
        find("devices", name)
        target = f"{PREFIX}{name}"
        site = (("Catalogue", "/catalog"), (title_of(target), entry_address("devices", name)))
        return whole_page(render(target, site))

    @app.get("/catalog/{kind}/{name}")
    def _entry(kind: Kind, name: str) -> Response:
        if kind not in SHOWN:
            raise NoRunError("methods have no page here", "the page that starts runs says what each answers")
        entry = entry_view(kind, name)
        return show("entry.html.jinja", settings, here="/catalog", name=name, kind=kind, entry=entry)
