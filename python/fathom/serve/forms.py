"""Forms that pages send, as typed values."""

from typing import TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from fathom.errors import UsageError

Form = TypeVar("Form", bound=BaseModel)
MOST_FIELDS = 200


async def read_form(request: Request, model: type[Form]) -> Form:
    """Returns the checked form; fields of tuples may be sent several times. Raises UsageError for a wrong one."""
    body = await request.body()
    try:
        pairs = parse_qsl(body.decode("utf-8"), max_num_fields=MOST_FIELDS)
        several = {name: () for name, field in model.model_fields.items() if field.default == ()}
        values: dict[str, object] = dict(pairs)
        values |= {name: tuple(value for key, value in pairs if key == name) for name in several}
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{where}: {first['msg']}", "correct it and send it again") from error
    except ValueError as error:
        raise UsageError("the form cannot be read", "reload the page and send it again") from error
