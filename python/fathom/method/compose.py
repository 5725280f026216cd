"""Several methods as one: their steps one after another, for a review that asks for all of them."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from fathom.method.method import Method, parse_method

if TYPE_CHECKING:
    from pydantic import JsonValue


def compose(name: str, title: str, summary: str, methods: Sequence[Method]) -> Method:
    """Returns a method of the steps of all. A step whose name is taken gets its method's name too. Each step keeps its
    method's bench, so that a twin still begins fresh on another bench. Reports open with the key figure of the first.
    """
    steps: list[dict[str, JsonValue]] = []
    for method in methods:
        taken = {str(step["name"]) for step in steps}
        for step in cast("list[dict[str, JsonValue]]", method.parsed["steps"]):
            name_of_step = str(step["name"])
            double = name_of_step in taken
            steps.append(step | {"name": f"{method.name}.{name_of_step}"} if double else step)
    first = methods[0].parsed
    return parse_method(
        json.dumps(
            {
                "schema": first["schema"],
                "name": name,
                "title": title,
                "summary": summary,
                "source": "; ".join(dict.fromkeys(method.source for method in methods)),
                **{key: first[key] for key in ("key_figure",) if key in first},
                "steps": steps,
            },
            indent=1,
        ),
        f"{name}.json",
    )
