"""The search on models with a known answer."""

import numpy as np
import pytest

from fathom.validation.search import Floats, fit


def test_a_smooth_model_is_solved_in_few_evaluations() -> None:
    truth = np.array([3.0, 0.5, 40.0])

    def rates(values: Floats) -> Floats:
        a, b, c = values
        return np.array([a / b, a * b + 1 / c, c / (1 + a), b * c])

    found = fit(lambda values: np.log(rates(values) / rates(truth)), np.array([4.0, 0.4, 30.0]))
    assert found.values == pytest.approx(truth, rel=0.01)
    assert found.evaluations <= 20


def test_a_parameter_behind_a_bottleneck_is_found_from_the_side_where_it_binds() -> None:
    def rates(values: Floats) -> Floats:
        dies, controller = values
        return np.array([min(10 * dies, controller), controller])

    target = np.array([500.0, 1000.0])
    found = fit(lambda values: np.log(rates(values) / target), np.array([101.0, 1000.0]))
    assert found.residuals == pytest.approx(0, abs=0.01)
    assert found.values[0] == pytest.approx(50, rel=0.01)


def test_what_no_residual_feels_stays_and_is_reported() -> None:
    found = fit(lambda values: np.log(values[:1] / 5), np.array([4.0, 7.0]))
    assert found.values == pytest.approx([5, 7], rel=0.01)
    assert found.values[1] == 7
    assert [one.felt for one in found.sensitivities] == [True, False]


def test_parameters_that_only_act_together_are_reported_as_such() -> None:
    def residuals(values: Floats) -> Floats:
        a, b, c = values
        return np.log(np.array([a * b / 6, (a * b) ** 0.5 / 2.4, c / 2]))

    alone = [one.alone for one in fit(residuals, np.array([2.0, 2.5, 2.1])).sensitivities]
    assert max(alone[:2]) < 0.01
    assert alone[2] == pytest.approx(1)


def test_the_sensitivities_are_the_changes_at_plus_and_minus_ten_percent() -> None:
    [one] = fit(lambda values: np.log(values**2 / 9), np.array([3.0])).sensitivities
    assert one.up == pytest.approx([2 * np.log(1.1)])
    assert one.down == pytest.approx([-2 * np.log(1.1)])


def test_values_that_cannot_be_are_avoided() -> None:
    found = fit(lambda values: None if values[0] > 4.2 else np.log(values / 5), np.array([4.0]))
    assert 4.0 <= found.values[0] <= 4.2
    assert found.sensitivities[0].up is None
    with pytest.raises(ValueError, match="start"):
        fit(lambda values: None, np.array([4.0]))


def test_a_start_that_cannot_be_bettered_is_returned_unchanged() -> None:
    start = np.array([3.0, 4.0])
    found = fit(lambda values: np.append(np.log(values / start), 0.3), start)
    assert found.values.tolist() == start.tolist()


def test_only_tidy_values_are_evaluated() -> None:
    seen: list[float] = []

    def residuals(values: Floats) -> Floats:
        seen.append(float(values[0]))
        return np.log(values / 9.6)

    found = fit(residuals, np.array([7.0]), np.round)
    assert found.values[0] == 10
    assert all(value.is_integer() for value in seen)


def test_a_parameter_at_its_limit_leaves_the_rest_to_the_others() -> None:
    def residuals(values: Floats) -> Floats:
        time, dies, spare = values
        return np.array(
            [
                -0.95 * np.log(time) + np.log(dies),
                -0.9 * np.log(time) + 0.75 * np.log(spare),
                0.06 - 0.6 * np.log(time),
            ]
        )

    def tidy(values: Floats) -> Floats:
        return np.array([values[0], min(values[1], 1.02), values[2]])

    found = fit(residuals, np.ones(3), tidy)
    assert found.values[1] == pytest.approx(1.02, abs=0.001)
    least = 0.06**2 - 0.06**2 * 0.6**2 / (0.6**2 + 0.95**2)
    assert float(found.residuals @ found.residuals) < least
