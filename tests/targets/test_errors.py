import pytest

from fathom.errors import ExitCode, FathomError, GateError, InterruptedRunError, RefusedError, UsageError


@pytest.mark.parametrize(
    ("error", "code"),
    [(FathomError, 1), (UsageError, 2), (RefusedError, 3), (GateError, 4), (InterruptedRunError, 130)],
)
def test_each_error_has_the_documented_exit_code(error: type[FathomError], code: int):
    assert error("x").exit_code == code
    assert ExitCode(code) == error.exit_code


def test_an_error_is_one_line_with_what_to_do_next():
    assert str(FathomError("job.toml:3:\n  unknown key", "did you\nmean iodepth")) == (
        "job.toml:3: unknown key; did you mean iodepth"
    )
    assert str(FathomError("the device is gone")) == "the device is gone"
