"""Forms that pages send, as typed values."""

from typing import TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from fathom.errors import UsageError

Form = TypeVar("Form", bound=BaseModel)
MOST_FIELDS = 200


async def read_form(request: Request, model: type[Form]) -> Form:
    """Returns the checked form. Raises UsageError for a wrong one."""
    body = await request.body()
    try:
        pairs = parse_qsl(body.decode("utf-8"), max_num_fields=MOST_FIELDS)
        return model.model_validate(dict(pairs))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{where}: {first['msg']}", "correct it and send it again") from error
    except ValueError as error:
        raise UsageError("the form cannot be read", "reload the page and send it again") from error
