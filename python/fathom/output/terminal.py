"""The console that tables and sentences are drawn on: no text is read as markup, none steers the terminal.

It writes past `fathom.output.printed.cleaned_streams`, since its own colours are control characters.
"""

from collections.abc import Iterable
from typing import IO, Any, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from fathom.output.printed import Cleaned, printable


class Terminal(Console):
    """A console that takes no text for markup and none for control characters."""

    def __init__(self, **options: Any) -> None:  # noqa: ANN401 (those of rich's own)
        super().__init__(markup=False, emoji=False, **options)

    def render_str(self, text: str, **options: Any) -> Text:  # noqa: ANN401
        """Returns a text as it may be drawn, so that its width is that of what is drawn."""
        return super().render_str(printable(text), **options)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yields what is drawn; what rich itself steers the terminal by stays."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=printable(segment.text))

    @property
    def file(self) -> IO[str]:
        """The stream itself, beneath the one that takes control characters out."""
        file = super().file
        return cast(IO[str], file.beneath) if isinstance(file, Cleaned) else file

    @file.setter
    def file(self, new_file: IO[str]) -> None:
        self._file = new_file
