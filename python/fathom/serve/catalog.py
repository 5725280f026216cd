"""The pages of the catalogue: its list, and one for each entry."""

from fastapi import FastAPI, Response

from fathom.catalog import Kind
from fathom.serve.catalog_view import GROUPS, SHOWN, entry_view, listed
from fathom.serve.folder import NoRunError
from fathom.serve.pages import show


def add_catalog(app: FastAPI) -> None:
    """Adds the pages of the catalogue."""

    @app.get("/catalog")
    def _list() -> Response:
        groups = listed()
        twins = sum(len(group.rows) for group in groups if group.heading in dict(GROUPS))
        return show("catalog.html.jinja", here="/catalog", groups=groups, twins=twins)

    @app.get("/catalog/{kind}/{name}")
    def _entry(kind: Kind, name: str) -> Response:
        if kind not in SHOWN:
            raise NoRunError("methods have no page here", "the page that starts runs says what each answers")
        return show("entry.html.jinja", here="/catalog", name=name, kind=kind, entry=entry_view(kind, name))
