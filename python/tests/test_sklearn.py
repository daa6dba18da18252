"""The estimators of scikit-learn."""

import pickle
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import ell0
from ell0 import _ell0
from ell0.sklearn import DictionaryRegressor, SparseMLPClassifier, SparseMLPRegressor

trains = hasattr(_ell0, "train_network")
networks = pytest.mark.skipif(not trains, reason="this build trains no networks")
ALL = [
    DictionaryRegressor(),
    DictionaryRegressor("polynomial(2)", criterion="bic"),
    DictionaryRegressor("polynomial(1) + fourier(1)"),
    DictionaryRegressor(terms=2),
    DictionaryRegressor("polynomial(1)", lambda_=0.1),
]
if trains:
    ALL += [SparseMLPRegressor(), SparseMLPClassifier(), SparseMLPRegressor(gates="weight")]


@parametrize_with_checks(ALL)
def test_checks_of_sklearn(estimator, check):
    check(estimator)


@pytest.fixture
def rows():
    # Of 60 such tables, 4 have noise that a further term explains too well; this is not one.
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = 1 + 2 * X[:, 0] * X[:, 1] - X[:, 2] ** 3 + 0.01 * rng.normal(size=200)
    return X, y


def test_law(rows):
    X, y = rows
    law = DictionaryRegressor().fit(X, y)
    assert law.terms_ == _ell0.terms("polynomial(3)", ["x0", "x1", "x2"])
    kept = {name: value for name, value in zip(law.terms_, law.coef_[0], strict=True) if value}
    assert kept == pytest.approx({"1": 1, "x0 x1": 2, "x2^3": -1}, abs=0.01)
    low, high = law.intervals_[0, law.terms_.index("x0 x1")]
    assert low < 2 < high
    assert np.isnan(law.intervals_[0, law.terms_.index("x0")]).all()
    (equation,) = law.equations_
    assert equation.startswith("y = ")
    assert law.predict(X).shape == y.shape
    assert law.score(X, y) > 0.999


def test_the_same_as_the_engine(rows):
    X, y = rows
    law = DictionaryRegressor().fit(X, y)
    by_name = {name: X[:, k] for k, name in enumerate(["x0", "x1", "x2"])}
    theta = np.column_stack(
        [
            np.prod(
                [by_name[f.split("^")[0]] ** int((f + "^1").split("^")[1]) for f in term.split()],
                axis=0,
            )
            if term != "1"
            else np.ones(len(X))
            for term in law.terms_
        ]
    )
    np.testing.assert_allclose(theta @ law.coef_[0], law.predict(X), atol=1e-12)


def test_several_targets(rows):
    X, y = rows
    law = DictionaryRegressor().fit(X, np.column_stack([y, X[:, 0]]))
    assert law.coef_.shape == (2, 20)
    assert law.predict(X).shape == (200, 2)
    assert law.law_.targets == ["y0", "y1"]
    sizes = DictionaryRegressor(terms=[2, 1]).fit(X, np.column_stack([y, X[:, 0]]))
    assert np.count_nonzero(sizes.coef_, axis=1).tolist() == [2, 1]


def test_names_of_tables(rows):
    pd = pytest.importorskip("pandas")
    X, y = rows
    table = pd.DataFrame(X, columns=["a", "b", "y"])
    law = DictionaryRegressor().fit(table, pd.Series(y, name="force"))
    assert law.law_.inputs == ["a", "b", "y"]
    assert law.equations_[0].startswith("force = ")
    assert law.feature_names_in_.tolist() == ["a", "b", "y"]
    assert DictionaryRegressor().fit(table, y).law_.targets == ["y_"]


def test_features_that_never_change(rows):
    X, y = rows
    X[:, 1] = 7
    law = DictionaryRegressor("polynomial(2)").fit(X, X[:, 0] * 2 + 1)
    assert law.coef_.shape == (1, 10)
    assert law.equations_ == ["y = 1 + 2*x0"]
    assert law.predict(X).shape == y.shape
    with pytest.raises(ValueError, match="every feature is the same"):
        law.fit(np.ones((5, 2)), np.arange(5.0))
    with pytest.raises(ValueError, match="in every row"):
        law.fit(X, np.ones(200))


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"library": "polynomal(2)"}, "polynom"),
        ({"terms": 2, "lambda_": 0.1}, "one of them is enough"),
        ({"terms": [1, 2]}, "one for each"),
        ({"prior": 2}, "prior"),
        ({"criterion": "luck"}, "luck"),
        ({"method": "luck"}, "luck"),
    ],
)
def test_wrong_settings(rows, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        DictionaryRegressor(**settings).fit(*rows)


def test_not_fitted():
    with pytest.raises(NotFittedError):
        DictionaryRegressor().predict([[1.0]])


def test_grid_search_in_a_pipeline(rows):
    search = GridSearchCV(
        make_pipeline(StandardScaler(), DictionaryRegressor()),
        {
            "dictionaryregressor__library": ["polynomial(1)", "polynomial(3)"],
            "dictionaryregressor__terms": np.array([1, 4]),
        },
        n_jobs=2,
    )
    search.fit(*rows)
    assert search.best_params_["dictionaryregressor__library"] == "polynomial(3)"
    assert search.best_score_ > 0.9


@pytest.mark.parametrize("estimator", ALL[:1] + ALL[5:7], ids=lambda e: type(e).__name__)
def test_clone_and_pickle(rows, estimator):
    X, y = rows
    y = y > 1 if isinstance(estimator, SparseMLPClassifier) else y
    fitted = estimator.fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X), fitted.predict(X))
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    np.testing.assert_array_equal(fresh.fit(X, y).predict(X), fitted.predict(X))


@networks
def test_network_for_numbers():
    X, y = make_friedman1(600, 10, noise=0.1, random_state=0)
    network = SparseMLPRegressor(lambda_=0.3).fit(X, y)
    assert network.score(X, y) > 0.9
    # Half of the features say nothing.
    assert set(network.inputs_read_) >= {0, 1, 2, 3, 4}
    assert len(network.inputs_read_) < 10
    assert network.widths_[0] == len(network.inputs_read_)
    assert network.widths_[1] < 64
    assert len(network.history_) == 200
    both = SparseMLPRegressor(epochs=5).fit(X, np.column_stack([y, -1e6 * y]))
    assert both.predict(X).shape == (600, 2)


@networks
def test_network_for_classes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    network = SparseMLPClassifier(hidden=[16]).fit(X, names)
    assert network.classes_.tolist() == sorted(set(names))
    assert network.score(X, names) > 0.93
    probabilities = network.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(
        network.classes_[probabilities.argmax(axis=1)], network.predict(X)
    )
    assert cross_val_score(SparseMLPClassifier(hidden=[16]), X, y).mean() > 0.9


def test_what_nobody_should_miss_is_warned_of(rows):
    X, _ = rows
    noise = np.random.default_rng(3).normal(size=len(X))
    with pytest.warns(ell0.NoLawWarning, match="y: no law") as heard:
        DictionaryRegressor("polynomial(1)").fit(X, noise)
    assert [warning.filename for warning in heard] == [__file__]
    with pytest.warns(ell0.CollapsedWarning, match="the same for every row.*a lower price"):
        SparseMLPClassifier(hidden=[8], lambda_=1e4).fit(X, noise > 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SparseMLPRegressor(hidden=[8], epochs=20).fit(X, X[:, 0])


@networks
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"gates": "many"}, "many"),
        ({"activation": "step"}, "step"),
        ({"validation": 2}, "validation"),
        ({"lambda_": -1}, "lambda"),
        ({"epochs": 0}, "epochs"),
    ],
)
def test_wrong_settings_of_a_network(rows, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        SparseMLPRegressor(**settings).fit(*rows)


@networks
def test_one_class_only():
    with pytest.raises(ValueError, match="one class"):
        SparseMLPClassifier().fit(np.eye(3), [1, 1, 1])
