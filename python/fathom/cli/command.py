"""The format of help: commands under headings; arguments as in manual pages, without the parser's braces and types."""

import re
from typing import TYPE_CHECKING

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from typer._click import HelpFormatter
    from typer._click.exceptions import UsageError as ParserError
else:
    # Versions of typer have the parser's errors in different places.
    ParserError = typer.BadParameter.__bases__[0]


class Command(TyperCommand):
    """A command whose usage is `fathom run [OPTIONS] METHOD TARGET...`."""

    def collect_usage_pieces(self, ctx: "typer.Context") -> list[str]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Returns the usage after the command's name."""
        arguments = [one for one in self.get_params(ctx) if one.param_type_name == "argument"]
        return [self.options_metavar or "", *(one.metavar or one.name or "" for one in arguments)]

    def parse_args(self, ctx: "typer.Context", args: list[str]) -> list[str]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Parses as its base does, and puts this command into errors that name none: an option without its value."""
        try:
            return super().parse_args(ctx, args)
        except ParserError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_options(self, ctx: "typer.Context", formatter: "HelpFormatter") -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Arguments, then options; a range reads `1 to 100`."""
        for heading, kind in (("Arguments", "argument"), ("Options", "option")):
            records = [
                one.get_help_record(ctx) for one in self.get_params(ctx) if one.param_type_name == kind
            ]
            if rows := [(_without_type(name), _plain(text)) for name, text in filter(None, records)]:
                with formatter.section(heading):
                    formatter.write_dl(rows)


class Grouped(TyperGroup):
    """Commands whose help lists them under headings, their `rich_help_panel`."""

    def format_commands(self, ctx: "typer.Context", formatter: "HelpFormatter") -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Writes a section per heading, all with their texts in one column."""
        sections: dict[str, list[tuple[str, str]]] = {}
        widest = max(map(len, self.commands))
        for name, command in self.commands.items():
            heading = str(getattr(command, "rich_help_panel", None) or "Commands")
            text = command.get_short_help_str(formatter.width - widest - 4)
            sections.setdefault(heading, []).append((name.ljust(widest), text))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows)


def refused(message: str) -> str:
    """Returns what the parser refuses, without the name that some versions of it put before the reason."""
    return message.rstrip(".").replace(": Value error, ", ": ", 1)


def _without_type(name: str) -> str:
    return re.sub(r" <\S+>$", "", name)


def _plain(text: str) -> str:
    """Returns the help without the range of all 64-bit numbers."""
    text = re.sub(r"; 0<=x<=18446744073709551615", "", text)
    return re.sub(r"(\d+)<=x<=(\d+)", r"\1 to \2", text)
