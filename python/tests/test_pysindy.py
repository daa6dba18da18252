"""The optimizer for PySINDy, in the pattern of PySINDy's own tests."""

import pickle

import numpy as np
import pytest

pytest.importorskip("pysindy")

import pysindy as ps
from scipy.integrate import solve_ivp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.utils.validation import check_is_fitted

from ell0.pysindy import L0

LAW = {"x": {"x", "y"}, "y": {"x", "y", "x z"}, "z": {"z", "x y"}}


@pytest.fixture(autouse=True)
def seed():
    # PySINDy's ensembles draw from the global generator.
    np.random.seed(100)


@pytest.fixture(scope="module")
def lorenz():
    def rates(_, s):
        x, y, z = s
        return [10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z]

    t = np.linspace(0, 5, 500)
    return solve_ivp(rates, (0, 5), [8, 27, -7], t_eval=t, rtol=1e-10, atol=1e-10).y.T, t


@pytest.fixture
def line():
    """One term that grows, and a rate that is always the same."""
    return 2 * np.linspace(1, 100, 100).reshape(-1, 1), 2 * np.ones((100, 1))


@pytest.fixture
def plane():
    x = np.linspace(1, 100, 100).reshape(-1, 1) * [2, -10]
    return x, np.ones((100, 2)) * [2, -10]


def found(model):
    names = model.get_feature_names()
    return {
        state: {names[k] for k in np.flatnonzero(row)}
        for state, row in zip(model.feature_names, model.coefficients(), strict=True)
    }


@pytest.mark.parametrize("noise", [0, 0.01])
@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("bias", [True, False])
def test_lorenz(lorenz, degree, bias, noise):
    x, t = lorenz
    x = x + noise * np.random.default_rng(0).normal(size=x.shape)
    library = ps.PolynomialLibrary(degree, include_bias=bias)
    model = ps.SINDy(optimizer=L0(), feature_library=library)
    model.fit(x, t=t, feature_names=["x", "y", "z"])
    assert found(model) == LAW
    assert model.score(x, t=t) > 0.99
    assert model.complexity == 7
    assert model.simulate(x[0], t[:50]).shape == (50, 3)


def test_asking_for_it(lorenz):
    x, t = lorenz
    for optimizer in (
        L0(terms=[2, 3, 2]),
        L0(lambda_=1.0),
        L0(lambda_=[1, 1, 1]),
        L0(penalty=1e-2),
    ):
        model = ps.SINDy(optimizer=optimizer).fit(x, t=t, feature_names=["x", "y", "z"])
        assert found(model) == LAW
    exact = x @ np.array([[-10, 10, 0], [28, -1, 0], [0, 0, -8 / 3]]).T
    exact[:, 1] -= x[:, 0] * x[:, 2]
    exact[:, 2] += x[:, 0] * x[:, 1]
    for criterion in ("likelihood", "bic", "validation"):
        model = ps.SINDy(optimizer=L0(criterion=criterion))
        model.fit(x, t=t, x_dot=exact, feature_names=["x", "y", "z"])
        assert found(model) == LAW
        np.testing.assert_allclose(model.coefficients()[0, 1:3], [-10, 10], rtol=1e-9)


def test_runs_and_discrete_laws(lorenz):
    x, t = lorenz
    model = ps.SINDy(optimizer=L0()).fit([x[:250], x[250:]], t=[t[:250], t[250:]])
    assert model.complexity == 7
    logistic = [0.5]
    for _ in range(99):
        logistic.append(3.6 * logistic[-1] * (1 - logistic[-1]))
    model = ps.DiscreteSINDy(optimizer=L0()).fit(np.array(logistic).reshape(-1, 1), t=1)
    np.testing.assert_allclose(model.coefficients(), [[0, 3.6, -3.6]], atol=1e-9)


def test_fit(line, plane):
    for x, x_dot in (line, plane):
        optimizer = L0().fit(x, x_dot)
        check_is_fitted(optimizer)
        assert optimizer.complexity >= 0
        assert optimizer.coef_.shape == (x_dot.shape[1], x.shape[1])
        assert L0().fit(x, x_dot[:, 0]).coef_.shape == (1, x.shape[1])
        wrapped = ps.WrappedOptimizer(L0(), unbias=False).fit(x, x_dot)
        np.testing.assert_allclose(wrapped.coef_, optimizer.coef_)


def test_constant_terms_and_rates():
    x = np.linspace(1, 9, 50)
    theta = np.column_stack([0 * x, 0 * x + 4, x])
    rates = np.column_stack([0 * x + 2, 0 * x, 3 * x, 1 - x, x + 2])
    expected = [[0, 0.5, 0], [0, 0, 0], [0, 0, 3], [0, 0.25, -1], [0, 0.5, 1]]
    np.testing.assert_allclose(L0().fit(theta, rates).coef_, expected, atol=1e-9)
    sizes = L0(terms=[1, 1, 1, 2, 1]).fit(theta, rates)
    assert np.count_nonzero(sizes.coef_, axis=1).tolist() == [1, 0, 1, 2, 1]
    with pytest.raises(ValueError, match="nothing can be learned"):
        L0().fit(theta[:, :2], rates)


def test_not_fitted(plane):
    optimizer = L0()
    with pytest.raises(NotFittedError):
        optimizer.predict(np.ones((1, 3)))
    with pytest.raises(NotFittedError):
        optimizer.complexity  # noqa: B018
    optimizer.fit(plane[0], plane[0])
    assert optimizer.complexity > 0


@pytest.mark.parametrize(
    "settings", [{"normalize_columns": True}, {"copy_X": False}, {"unbias": True}]
)
def test_alternate_parameters(lorenz, line, settings):
    x, x_dot = line
    optimizer = L0(**settings).fit(x, x_dot)
    optimizer.fit(x, x_dot, sample_weight=x[:, 0])
    check_is_fitted(optimizer)
    x, t = lorenz
    model = ps.SINDy(optimizer=L0(**settings)).fit(x, t=t, feature_names=["x", "y", "z"])
    assert found(model) == LAW


def test_sample_weights(line):
    x, _ = line
    weights = np.ones(len(x))
    weights[::2] = 0
    check_is_fitted(L0().fit(x, x, sample_weight=weights))


@pytest.mark.parametrize(
    "settings",
    [
        {"lambda_": -1},
        {"penalty": -1},
        {"terms": 2, "lambda_": 1},
        {"terms": [2, 3]},
        {"prior": 0},
        {"method": "luck"},
    ],
)
def test_bad_parameters(lorenz, settings):
    x, t = lorenz
    with pytest.raises(ValueError):
        ps.SINDy(optimizer=L0(**settings)).fit(x, t=t)


@pytest.mark.parametrize(
    "settings",
    [
        {"library_ensemble": True, "n_models": 2},
        {"bagging": True, "n_models": 2, "n_subset": 2},
        {"library_ensemble": True, "bagging": True, "n_models": 2, "n_subset": 2},
    ],
)
def test_ensembles(lorenz, settings):
    x, _ = lorenz
    optimizer = ps.EnsembleOptimizer(L0(), **settings)
    optimizer.fit(x, x)
    assert optimizer.coef_.shape == (3, 3)
    assert len(optimizer.coef_list) == 2


def test_ensemble_finds_lorenz(lorenz):
    x, t = lorenz
    optimizer = ps.EnsembleOptimizer(L0(), bagging=True, n_models=5)
    model = ps.SINDy(optimizer=optimizer).fit(x, t=t, feature_names=["x", "y", "z"])
    assert found(model) == LAW


def test_clone_pickle_and_grid_search(lorenz):
    x, t = lorenz
    model = ps.SINDy(optimizer=L0(terms=3)).fit(x, t=t)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.coefficients(), model.coefficients())
    assert clone(model.optimizer).get_params() == model.optimizer.get_params()
    theta = ps.PolynomialLibrary(2).fit_transform(x)
    rates = ps.FiniteDifference()._differentiate(x, t)
    search = GridSearchCV(L0(), {"terms": [1, 3]}, cv=TimeSeriesSplit(3)).fit(theta, rates)
    assert search.best_params_ == {"terms": 3}
    assert model.set_params(optimizer__terms=2).optimizer.terms == 2


def test_weak_terms_of_clean_data_are_found():
    def rossler(_, x):
        return [-x[1] - x[2], x[0] + 0.2 * x[1], 0.2 + x[2] * (x[0] - 5.7)]

    t = np.arange(0, 50, 0.01)
    x = solve_ivp(rossler, (0, t[-1]), [1, 1, 1], t_eval=t, rtol=1e-10, atol=1e-10).y.T
    model = ps.SINDy(optimizer=L0()).fit(x, t=t)
    names = model.get_feature_names()
    terms = [[names[j] for j in np.flatnonzero(row)] for row in model.coefficients()]
    assert terms == [["x1", "x2"], ["x0", "x1"], ["1", "x2", "x0 x2"]]
    assert abs(model.coefficients()[2, 0] - 0.2) < 0.01


def test_the_penalty_follows_the_scale_and_the_offset_of_the_target():
    rng = np.random.default_rng(2)
    x = np.column_stack([np.ones(400), rng.normal(size=(400, 4))])
    y = x @ [0, 3, 0, 0.2, 0] + 0.05 * rng.normal(size=400)
    for scale, offset in [(1, 0), (1e-6, 0), (1e6, 0), (1, 1e4)]:
        found = L0().fit(x, scale * (y + offset)).coef_[0] / scale
        np.testing.assert_allclose(found[1:], [3, 0, 0.2, 0], atol=0.02)
        assert (found != 0).tolist() == [offset != 0, True, False, True, False]
