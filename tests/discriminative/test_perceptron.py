"""The perceptron: comparison with plain loops, its bound, its conventions, and the warning without convergence."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Perceptron as ScikitPerceptron
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice.discriminative import LogisticRegression
from suffice.discriminative.perceptron import Perceptron
from suffice.solvers.stochastic import shuffled
from suffice.store import load

from ..references.data import unpacked

INEQUIVALENT = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "one step twice as long is not two steps: the second row may be no mistake any more",
)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [Perceptron(max_iter=30)],
    expected_failed_checks=lambda _: INEQUIVALENT,
)
def test_the_estimator_passes_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def separable(seed: int, n: int = 80, d: int = 3, gap: float = 0.1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows that a plane separates, with a gap, and the plane, its intercept first."""
    rng = np.random.default_rng(seed)
    plane = rng.normal(size=d + 1)
    x = rng.normal(size=(4 * n, d))
    z = (plane[0] + x @ plane[1:]) / np.linalg.norm(plane)
    keep = np.flatnonzero(np.abs(z) > gap)[:n]
    return x[keep], (z[keep] > 0).astype(int), plane


def by_hand(
    x: np.ndarray, y: np.ndarray, epochs: int, boundary: str = "mistake", step: float = 1.0
) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Last theta, mean theta and mistakes of rows taken as they come."""
    theta, total, mistakes = np.zeros(x.shape[1] + 1), np.zeros(x.shape[1] + 1), []
    for _ in range(epochs):
        mistakes.append(0)
        for row, label in zip(x, y, strict=True):
            features = np.concatenate([[1.0], row])
            score = features @ theta
            error = 2 * label - 1 if score == 0 and boundary == "mistake" else label - int(score >= 0)
            theta = theta + step * error * features
            total += theta
            mistakes[-1] += error != 0
        if mistakes[-1] == 0:
            break
    return theta, total / (len(x) * len(mistakes)), mistakes


@given(seed=st.integers(0, 10**6), layout=st.sampled_from([np.asarray, sp.csr_array, np.asfortranarray]))
def test_it_equals_plain_loops(seed, layout):
    x, y, _ = separable(seed)
    assume(len(np.unique(y)) == 2)
    theta, mean, mistakes = by_hand(x, y, 1000)
    model = Perceptron(shuffle=False, tol=None).fit(layout(x), y)
    assert model.mistakes_ == mistakes
    assert model.separated_
    assert model.n_iter_ == len(mistakes)
    assert np.array_equal(model.coef_, theta[None, 1:])
    assert np.array_equal(model.intercept_, theta[:1])
    assert np.array_equal(model.predict(x), y)
    averaged = Perceptron(shuffle=False, tol=None, average=True).fit(layout(x), y)
    np.testing.assert_allclose(averaged.coef_, mean[None, 1:], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(averaged.intercept_, mean[:1], rtol=1e-11, atol=1e-12)


@given(seed=st.integers(0, 10**6), boundary=st.sampled_from(["mistake", "second"]), sparse=st.booleans())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rows_on_the_boundary_follow_either_rule(seed, boundary, sparse):
    rng = np.random.default_rng(seed)
    x, y = rng.integers(-2, 3, (12, 2)).astype(float), np.arange(12) % 2
    theta, mean, mistakes = by_hand(x, y, 5, boundary)
    rows = sp.csr_array(x) if sparse else x
    model = Perceptron(boundary=boundary, shuffle=False, tol=None, max_iter=5).fit(rows, y)
    assert model.mistakes_ == mistakes
    assert np.array_equal(model.theta_.ravel(), theta)
    scores = np.column_stack([np.ones(12), x]) @ theta
    assert np.array_equal(model.predict(rows), scores >= 0 if boundary == "second" else scores > 0)
    averaged = Perceptron(boundary=boundary, shuffle=False, tol=None, max_iter=5, average=True).fit(rows, y)
    np.testing.assert_allclose(averaged.theta_.ravel(), mean, rtol=1e-11, atol=1e-12)


def test_the_second_class_has_the_boundary_in_batches_with_weights_and_after_loading(tmp_path):
    x, y, weight = [[1.0, 1.0], [-1.0, 1.0], [0.0, 1.0]], [1, 0, 1], [1.0, 2.0, 1.0]
    rule = Perceptron(boundary="second", fit_intercept=False, eta0=0.5)
    for row, label, w in zip(x, y, weight, strict=True):
        rule.partial_fit([row], [label], classes=[0, 1], sample_weight=[w])
    assert rule.theta_.ravel().tolist() == [1.0, -0.5]  # g(0) = 1: no step; then -0.5 2 (-1, 1), then 0.5 (0, 1)
    assert rule.mistakes_ == [0, 1, 1]
    assert [step.value for step in rule.trace_] == [0.0, 0.0, 1.0]
    rule.save(tmp_path / "a.model")
    for model in (rule, load(tmp_path / "a.model")):
        assert model.predict([[0.0, 0.0], [0.5, 1.0], [0.0, 1.0]]).tolist() == [1, 1, 0]
    with pytest.raises(ValueError, match="boundary='second' is a rule for two classes, and there are 3: leave it out"):
        Perceptron(boundary="second").fit(x, [0, 1, 2])
    with pytest.raises(ValueError, match="boundary must be 'mistake' or 'second'; got 'first'"):
        Perceptron(boundary="first").fit(x, y)


def test_steps_print_what_is_known():
    x, y, _ = separable(4)
    model = Perceptron().fit(x, y)
    step = model.trace_[0]
    assert str(step).startswith(f"pass 1: value {step.value:.10g}, ")
    assert "nan" not in f"{model.trace_} {step}"
    assert 0 < step.seconds <= model.trace_[-1].seconds
    line = LogisticRegression(solver="newton", C=1.0).fit(x, y).solution_.trace[0]
    assert "largest gradient per row" in str(line)
    assert "step=" not in repr(line)  # the start has none


@pytest.mark.parametrize("data", [load_breast_cancer, load_iris, load_digits])
@pytest.mark.parametrize("settings", [{}, {"tol": 0.1, "n_iter_no_change": 3}, {"fit_intercept": False, "eta0": 0.5}])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_two_classes_in_row_order_are_scikit_learns(data, settings):
    x, y = data(return_X_y=True)
    y = (y == 1).astype(int)
    order = np.random.default_rng(0).permutation(len(y))
    x, y = x[order], y[order]
    mine = Perceptron(shuffle=False, **settings).fit(x, y)
    other = ScikitPerceptron(shuffle=False, **settings).fit(x, y)
    np.testing.assert_allclose(mine.coef_, other.coef_, rtol=1e-9, atol=1e-9 * np.abs(other.coef_).max())
    np.testing.assert_allclose(mine.intercept_, other.intercept_, rtol=1e-9)
    np.testing.assert_array_equal(mine.predict(x), other.predict(x))
    if not mine.separated_:
        assert mine.n_iter_ == other.n_iter_


def test_defaults_are_scikit_learns():
    mine, other = Perceptron().get_params(), ScikitPerceptron().get_params()
    shared = set(mine) & set(other)
    assert len(shared) == 11
    assert {name: mine[name] for name in shared} == {name: other[name] for name in shared} | {"verbose": False}


@given(seed=st.integers(0, 10**6), gap=st.floats(0.02, 0.5), order=st.integers(0, 100))
def test_mistakes_are_bounded_by_the_margin(seed, gap, order):
    x, y, plane = separable(seed, gap=gap)
    assume(len(np.unique(y)) == 2)
    rows = np.column_stack([np.ones(len(x)), x])
    margin = np.min(np.abs(rows @ plane)) / np.linalg.norm(plane)
    longest = np.max(np.linalg.norm(rows, axis=1))
    model = Perceptron(max_iter=10**5, tol=None, random_state=order).fit(x, y)
    assert model.separated_
    assert sum(model.mistakes_) <= (longest / margin) ** 2


def test_three_classes_by_hand():
    x, y = load_iris(return_X_y=True)
    x, y = x[::-1], y[::-1]
    theta = np.zeros((5, 3))
    for row, label in zip(x, y, strict=True):
        features = np.concatenate([[1.0], row])
        winner = int(np.argmax(features @ theta))
        if winner != label:
            theta[:, label] += 0.5 * features
            theta[:, winner] -= 0.5 * features
    model = Perceptron(eta0=0.5).partial_fit(x, y)
    np.testing.assert_allclose(model.coef_, theta[1:].T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, theta[0], rtol=1e-12, atol=1e-12)
    assert model.decision_function(x).shape == (150, 3)
    assert np.array_equal(model.predict(x), np.argmax(model.decision_function(x), axis=1))


def test_digits_are_learnt():
    x, y = load_digits(return_X_y=True)
    model = Perceptron(tol=None).fit(x, y)
    assert model.separated_
    assert model.score(x, y) == 1
    first = Perceptron().partial_fit(x[:300][order(300)], y[:300][order(300)])
    for n_jobs in (1, 2):
        model = Perceptron(random_state=0, n_jobs=n_jobs, max_iter=1)
        with pytest.warns(ConvergenceWarning, match="the rows are not separated"):
            model.fit(x[:300], y[:300])
        assert model.mistakes_ == first.mistakes_
        np.testing.assert_allclose(model.coef_, first.coef_)


def order(n: int) -> np.ndarray:
    """The order that a seed of 0 draws for the first epoch."""
    return shuffled(n, np.random.RandomState(0).randint(2**31 - 1))


def overlapping(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 2)) + y[:, None], y


def test_rows_that_overlap_are_told():
    x, y = overlapping()
    with pytest.warns(ConvergenceWarning, match=r"not separated: \d+ of 200 were mistakes in the last of 7 epochs"):
        model = Perceptron(max_iter=7, tol=None).fit(x, y)
    assert not model.separated_
    assert model.n_iter_ == 7
    assert model.why_ == f"all 7 epochs are over, and there were {model.mistakes_[-1]} mistakes in the last"
    stopped = Perceptron(tol=0.01, random_state=0).fit(x, y)
    assert 6 <= stopped.n_iter_ < 100
    assert stopped.why_ == "the loss per row has not decreased by 0.01 for 5 epochs"


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_average_depends_less_on_the_last_rows():
    x, y = overlapping()
    last, mean = (
        [
            Perceptron(max_iter=7, tol=None, random_state=seed, average=average).fit(x, y).score(x, y)
            for seed in range(20)
        ]
        for average in (False, True)
    )
    assert np.mean(mean) > np.mean(last)
    assert np.std(mean) < np.std(last)


def test_course_data():
    """Two sets of the course's: the perceptron separates the one on which logistic regression never comes to rest."""
    tables = {
        name: np.loadtxt(unpacked("cs229") / "2018-ps2" / f"ds1_{name}.csv", delimiter=",", skiprows=1) for name in "ab"
    }
    model = Perceptron(tol=None, max_iter=10**5).fit(tables["b"][:, 1:], tables["b"][:, 0])
    assert model.separated_
    assert model.score(tables["b"][:, 1:], tables["b"][:, 0]) == 1
    with pytest.warns(ConvergenceWarning, match="the rows are not separated"):
        model = Perceptron(tol=None, average=True).fit(tables["a"][:, 1:], tables["a"][:, 0])
    assert not model.separated_
    assert model.score(tables["a"][:, 1:], tables["a"][:, 0]) > 0.9


def test_weights_scale_the_steps():
    x, y, _ = separable(3)
    weight = np.random.default_rng(0).random(len(x)) + 0.5
    weight[::7] = 0
    theta = np.zeros(4)
    for row, label, w in zip(x, y, weight, strict=True):
        features = np.concatenate([[1.0], row])
        theta = theta + w * (label - (features @ theta > 0) - (0 if label or features @ theta else 1)) * features
    model = Perceptron().partial_fit(x, y, sample_weight=weight)
    np.testing.assert_allclose(np.concatenate([model.intercept_, model.coef_[0]]), theta, rtol=1e-12)
    kept = weight > 0
    averaged, other = (
        Perceptron(shuffle=False, average=True).fit(x[rows], y[rows], weight[rows]) for rows in (slice(None), kept)
    )
    np.testing.assert_allclose(averaged.coef_, other.coef_, rtol=1e-12)
    assert averaged.mistakes_ == other.mistakes_
    scaled = Perceptron(class_weight={0: 2.0, 1: 0.5}).partial_fit(x, y)
    again = Perceptron().partial_fit(x, y, sample_weight=np.where(y == 0, 2.0, 0.5))
    assert np.array_equal(scaled.coef_, again.coef_)
    balanced = Perceptron(class_weight="balanced", shuffle=False).fit(x, y)
    shares = len(y) / (2 * np.bincount(y))
    assert np.allclose(balanced.coef_, Perceptron(shuffle=False).fit(x, y, sample_weight=shares[y]).coef_)


def test_batches_as_they_come():
    x, y, _ = separable(5)
    model = Perceptron()
    for part in np.array_split(np.arange(len(x)), 4):
        model.partial_fit(x[part], y[part], classes=[0, 1])
    whole = Perceptron().partial_fit(x, y)
    assert np.array_equal(model.coef_, whole.coef_)
    assert sum(model.mistakes_) == whole.mistakes_[0]
    assert model.n_iter_ == 4
    with pytest.raises(ValueError, match=r"y\[0\] is 7: .*do not exist in the initial classes \[0, 1\]"):
        model.partial_fit(x[:1], [7])
    with pytest.raises(ValueError, match="classes is not the same as on the last call to partial_fit"):
        model.partial_fit(x[:1], [1], classes=[0, 1, 2])
    with pytest.raises(ValueError, match="needs rows of at least 2 classes; those with weight are of 1 class, 1"):
        Perceptron().partial_fit(x[y == 1], y[y == 1])
    with pytest.raises(ValueError, match="class_weight='balanced' needs all rows at once"):
        Perceptron(class_weight="balanced").partial_fit(x, y)
    with pytest.raises(ValueError, match=r"class_weight names 9; the classes are \[0, 1\]"):
        Perceptron(class_weight={9: 1.0}).fit(x, y)


def test_a_warm_start_goes_on():
    x, y = overlapping()
    cold, warm = Perceptron(shuffle=False, max_iter=3), Perceptron(shuffle=False, max_iter=1, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="the rows are not separated"):
        cold.fit(x, y)
    for _ in range(3):
        with pytest.warns(ConvergenceWarning, match="the rows are not separated"):
            warm.fit(x, y)
    assert np.array_equal(cold.coef_, warm.coef_)
    assert warm.n_iter_ == 1
    with pytest.warns(ConvergenceWarning, match="the rows are not separated"):
        warm.fit(x[:, :1], np.where(y, "b", "a"))  # other rows, other classes: it starts at 0
    assert warm.coef_.shape == (1, 1)


@pytest.mark.parametrize("labels", [[0, 1], ["no", "yes"], [False, True], ["a", "b", "c"], [-1.0, 1.0]], ids=str)
@pytest.mark.parametrize("average", [False, True])
def test_a_loaded_model_learns_on(labels, average, tmp_path):
    x, code, _ = separable(7, n=90)
    y = np.asarray(labels)[code if len(labels) == 2 else np.arange(90) % 3]
    model = Perceptron(average=average, eta0=0.5, class_weight={labels[0]: 2.0}).partial_fit(x, y)
    model.save(tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert again.get_params() == model.get_params()
    assert again.classes_.dtype == model.classes_.dtype
    for each in (again, model):
        each.partial_fit(x[::-1], y[::-1])
    for name in ("classes_", "coef_", "intercept_", "mistakes_", "n_iter_", "separated_", "why_"):
        assert np.array_equal(getattr(again, name), getattr(model, name)), name
    assert np.array_equal(again.predict(x), model.predict(x))


def test_names_of_features_are_kept(tmp_path):
    import pandas

    x, y, _ = separable(1)
    frame = pandas.DataFrame(x, columns=["a", "b", "c"])
    Perceptron().fit(frame, y).save(tmp_path / "a.model")
    again = load(tmp_path / "a.model")
    assert np.array_equal(again.predict(frame), y)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"a": "z"}))


@pytest.mark.needs("torch")
def test_torch_rows():
    import torch

    x, y, _ = separable(2)
    model = Perceptron(random_state=0).fit(torch.asarray(x), torch.asarray(y))
    np.testing.assert_allclose(model.coef_, Perceptron(random_state=0).fit(x, y).coef_, rtol=1e-12)
    assert isinstance(model.decision_function(torch.asarray(x)), torch.Tensor)
    assert np.array_equal(model.predict(torch.asarray(x)), y)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_cells_that_are_no_numbers_are_named(value):
    x, y, _ = separable(2)
    model = Perceptron().fit(x, y)
    x[5, 1] = value
    for ask in (lambda: Perceptron().fit(x, y), lambda: model.predict(x), lambda: model.partial_fit(x, y)):
        with pytest.raises(ValueError, match=rf"Input X contains \w+: X\[5, 1\] is {value}; drop the row"):
            ask()


def test_bad_settings_and_no_fit():
    x, y, _ = separable(2)
    with pytest.raises(ValueError, match="max_iter must be at least 1; got 0"):
        Perceptron(max_iter=0).fit(x, y)
    with pytest.raises(ValueError, match="eta0 must be finite and above 0; got -1"):
        Perceptron(eta0=-1.0).fit(x, y)
    with pytest.raises(NotFittedError):
        Perceptron().predict(x)
    assert not hasattr(Perceptron(), "coef_")


def test_defaults_give_the_same_fit_every_time() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 3))
    y = (x @ [1.0, 2.0, -1.0] + 0.3 * random.normal(size=60) > 0).astype(int)
    for make in (
        lambda: Perceptron(max_iter=5, tol=0.5, average=True),
        lambda: LogisticRegression(solver="stochastic", C=1.0, inference=False),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            one, two = make().fit(x, y), make().fit(x, y)
        np.testing.assert_array_equal(one.coef_, two.coef_)
