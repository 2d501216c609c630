"""Explanations, samples, arrays of other libraries, unlabelled rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from suffice import GDA, BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MixedNB, MultinomialNB, PoissonNB
from suffice.generative import base, em_unlabelled

from .rows import CASES, Case

each_case = pytest.mark.parametrize("case", CASES, ids=str)


@each_case
def test_contributions_add_up_to_the_log_odds(case: Case) -> None:
    x, y = case.draw(40)
    label = np.array(["ham", "spam", "work"])[y]
    fitted = case.make().fit(x, label)
    for temperature in (1.0, 2.5):
        model = fitted.with_params(temperature=temperature)
        for against in (None, "work"):
            explanation = model.explain(x, against=against)
            log_proba = model.predict_log_proba(x)
            reference = 0 if against is None else 2
            np.testing.assert_allclose(explanation.log_odds, log_proba - log_proba[:, [reference]], atol=1e-9)
            assert explanation.against == model.classes_[reference]


def test_contributions_name_features_and_values() -> None:
    x = sp.csr_matrix(np.array([[3, 0, 0, 1], [0, 2, 1, 0], [4, 0, 0, 0], [0, 1, 2, 0]]))
    model = MultinomialNB().fit(x, ["ham", "spam", "ham", "spam"])
    explanation = model.explain(x)
    found = explanation[0].contributions
    assert [each.feature for each in found] == ["x0", "x3"]
    assert found[0].value == 3
    assert found[0].effect > found[1].effect > 0
    assert explanation[0].compare("spam", "ham").contributions[0].effect == -found[0].effect
    assert str(explanation).startswith("row 0\nham: probability ")
    with pytest.raises(ValueError, match="unknown class 'work'"):
        explanation[0].compare("work")
    tops = model.top_features(2)
    assert [name for name, _ in tops["ham"]] == ["x0", "x3"]
    assert [name for name, _ in tops["spam"]] == ["x1", "x2"]


WORDS = np.array([[2, 0, 1, 1], [1, 0, 0, 1], [0, 3, 1, 1], [0, 1, 2, 1], [1, 1, 0, 1], [2, 1, 0, 1]])
GROUPS = np.array(["a", "a", "b", "b", "c", "c"])
#: Rows that rule out one class, two, none, all of them; and one with a missing cell.
ASKED = np.array([[1, 0, 0, 1], [1, 1, 0, 1], [0, 0, 1, 1], [1, 1, 1, 1], [1, np.nan, 1, 1], [0, 0, 0, 0]])


@pytest.mark.parametrize(
    "model",
    [
        MultinomialNB(alpha=0),
        MultinomialNB(class_prior=[0.0, 0.5, 0.5]),
        ComplementNB(alpha=0),
        BernoulliNB(alpha=0),
        PoissonNB(alpha=0, temperature=2.0),
        CategoricalNB(alpha=0),
        GaussianNB(priors=[0.0, 0.5, 0.5]),
        MixedNB(alpha=0),
        MixedNB(alpha=0, columns={0: "count", 1: "boolean", 2: "category", 3: "boolean"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("against", ["a", "b", "c"])
def test_impossible_classes_are_explained(model: Any, against: str) -> None:
    binary = isinstance(model, MixedNB) and model.columns is not None
    words = np.minimum(WORDS, 1) if binary else WORDS
    fitted = model.fit(words, GROUPS)
    explained = fitted.explain(ASKED, against=against)
    log_p = fitted.predict_log_proba(ASKED)
    reference = log_p[:, [list("abc").index(against)]]
    with np.errstate(invalid="ignore"):
        expected = np.where(log_p == reference, 0.0, log_p - reference)
    np.testing.assert_allclose(explained.log_odds, expected, atol=1e-9)
    np.testing.assert_array_equal(np.isneginf(log_p) & ~explained.impossible, False)
    assert "+nan" not in str(explained)
    for row, label in enumerate(fitted.predict(ASKED)):
        assert explained[row].prediction == label
        assert not np.isnan([each.effect for each in explained[row].contributions]).any()
    for part in explained.contributions:
        assert not np.isnan(part).any()


@pytest.mark.parametrize("make", [MultinomialNB, BernoulliNB, PoissonNB])
def test_impossible_classes_of_sparse_rows(make: Any) -> None:
    model = make(alpha=0).fit(WORDS, GROUPS)
    dense, stored = model.explain(ASKED), model.explain(sp.csr_array(ASKED))
    np.testing.assert_array_equal(stored.impossible, dense.impossible)
    np.testing.assert_allclose(stored.log_odds, dense.log_odds, atol=1e-12)


def test_unexplained_words_are_said_to_be_impossible() -> None:
    model = MultinomialNB(alpha=0).fit(WORDS[:4], GROUPS[:4])
    said = str(model.explain([[1, 0, 0, 0], [1, 1, 0, 0]]))
    assert "row 0\na: probability 1.0000, log-odds +inf against b, which is impossible\n" in said
    assert "row 1\na: probability 0.5000, log-odds +0.000 against b; every class is impossible here" in said


def test_a_word_that_a_class_cannot_have_does_not_speak_for_it() -> None:
    model = MultinomialNB(alpha=0).fit(WORDS[:4], GROUPS[:4])
    tops = model.top_features()
    assert tops["a"][0] == ("x0", np.inf)
    assert tops["a"][-1] == ("x1", -np.inf)
    assert tops["b"][0] == ("x1", np.inf)
    assert np.isfinite(BernoulliNB(alpha=0).fit(WORDS[:4], GROUPS[:4]).intercept_).all()


def test_only_linear_posteriors_have_coefficients() -> None:
    x, y = CASES[0].draw(60)
    for kind in ("tied", "tied_diagonal", "tied_spherical"):
        model = GDA(kind).fit(x, y)
        scores = x @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(scores - scores[:, :1], model.explain(x).log_odds, atol=1e-8)
    for model in (GDA("full").fit(x, y), GaussianNB().fit(x, y), GDA("diagonal").fit(x, y)):
        assert not hasattr(model, "coef_")
        with pytest.raises(AttributeError, match="not linear"):
            model.top_features()
    assert not hasattr(GDA(), "coef_")


@pytest.mark.parametrize("model", [MultinomialNB(), BernoulliNB(), PoissonNB()], ids=str)
def test_event_models_are_linear(model: Any) -> None:
    x, y = CASES[2].draw(60, classes=2)
    x = (x > 0).astype(int)
    model.fit(x, y)
    odds = (x @ model.coef_.T + model.intercept_)[:, 0]
    log_proba = model.predict_log_proba(x)
    np.testing.assert_allclose(odds, log_proba[:, 1] - log_proba[:, 0], atol=1e-10)


@pytest.mark.parametrize("case", [case for case in CASES if "Categorical" not in case.name], ids=str)
@pytest.mark.needs("torch")
def test_torch_rows_stay_torch(case: Case) -> None:
    import torch

    x, y = case.draw(60)
    model = case.make().fit(x, y)
    there = case.make().fit(torch.tensor(x), torch.tensor(y))
    for method in ("predict_proba", "predict_log_proba", "predict_joint_log_proba", "log_evidence", "predict"):
        answer = getattr(there, method)(torch.tensor(x))
        assert isinstance(answer, torch.Tensor)
        np.testing.assert_allclose(answer.numpy(), getattr(model, method)(x), rtol=1e-9, atol=1e-9)
    if case.forgets:
        there.partial_fit(torch.tensor(x), torch.tensor(y)).forget(torch.tensor(x), torch.tensor(y))
        np.testing.assert_allclose(there.predict_proba(x), model.predict_proba(x), atol=1e-9)


@pytest.mark.parametrize("case", [case for case in CASES if "Categorical" not in case.name], ids=str)
def test_sparse_rows_are_dense_rows(case: Case) -> None:
    x, y = case.draw(60)
    dense, thin = case.make().fit(x, y), case.make().fit(sp.csc_matrix(x), y)
    for form in (sp.csr_matrix, sp.csr_array, sp.coo_matrix):
        np.testing.assert_allclose(thin.predict_proba(form(x)), dense.predict_proba(x), atol=1e-9)


@pytest.mark.parametrize("case", CASES[:8], ids=str)
def test_unlabelled_rows_raise_the_likelihood(case: Case) -> None:
    x, y = case.draw(300, classes=2)
    few = np.concatenate([np.flatnonzero(y == k)[:6] for k in (0, 1)])
    rest = np.setdiff1d(np.arange(len(y)), few)
    model = case.make().fit(x[few], y[few], unlabelled=x[rest])
    trace = np.array(model.em_trace_)
    assert (np.diff(trace) >= 0).all()
    assert len(trace) > 1
    np.testing.assert_allclose(model.class_count_.sum(), len(y))
    ignored = case.make().fit(x[few], y[few], unlabelled=x[rest], unlabelled_weight=0)
    np.testing.assert_allclose(ignored.predict_proba(x), case.make().fit(x[few], y[few]).predict_proba(x), atol=1e-12)


def test_unlabelled_rows_help() -> None:
    random = np.random.default_rng(1)
    y = np.repeat([0, 1], 300)
    x = random.normal(size=(600, 5)) + 1.2 * y[:, None]
    few = np.r_[0:4, 300:304]
    alone, helped = GDA("tied_diagonal").fit(x[few], y[few]), GDA("tied_diagonal").fit(x[few], y[few], unlabelled=x)
    assert helped.score(x, y) > alone.score(x, y) + 0.02


def test_directions_tell_classes_apart() -> None:
    x, y = load_iris(return_X_y=True)
    model = GDA().fit(x, y)
    z = model.transform(x)
    assert z.shape == (150, 2)
    within = sum(np.cov(z[y == k].T, bias=True) for k in range(3)) / 3
    np.testing.assert_allclose(within, np.eye(2), atol=1e-9)
    assert GDA().fit(z, y).score(z, y) >= model.score(x, y) - 1e-12
    np.testing.assert_allclose(GDA(n_components=1).fit(x, y).transform(x)[:, 0], z[:, 0])
    gaps = x.copy()
    gaps[3, 1], gaps[7] = np.nan, np.nan
    z_gaps = model.transform(gaps)
    np.testing.assert_allclose(z_gaps[:3], z[:3])
    assert np.abs(z_gaps[3] - z[3]).max() < 2
    np.testing.assert_allclose(z_gaps[7], 0, atol=1e-9)
    with pytest.raises(ValueError, match="one class only"):
        GDA().fit(x, np.zeros(150)).transform(x)


def test_categories_of_any_kind() -> None:
    import pandas
    import polars

    columns = {"colour": ["red", "blue", "red", None], "size": [3, 3, 5, 5], "new": [True, False, True, True]}
    y = [1, 0, 1, 0]
    by_list = CategoricalNB().fit([list(row) for row in zip(*columns.values(), strict=True)], y)
    for frame in (pandas.DataFrame(columns), polars.DataFrame(columns)):
        model = CategoricalNB().fit(frame, y)
        np.testing.assert_allclose(
            model.predict_proba(frame),
            by_list.predict_proba([list(row) for row in zip(*columns.values(), strict=True)]),
        )
        assert list(model.feature_names_in_) == list(columns)
    drawn, _ = by_list.sample(5, random_state=0)
    assert set(drawn[:, 0]) <= {"red", "blue"}


def test_measurements_cut_into_bins() -> None:
    x, y = load_iris(return_X_y=True)
    model = CategoricalNB(bins=5).fit(x, y)
    assert model.score(x, y) > 0.9
    assert all(len(edges) == 4 for edges in model.bin_edges_)
    quantiles = np.quantile(x[:, 0], [0.2, 0.4, 0.6, 0.8], method="averaged_inverted_cdf")
    np.testing.assert_allclose(model.bin_edges_[0], quantiles)
    given = CategoricalNB(bins=model.bin_edges_).fit(x[:75], y[:75]) + CategoricalNB(bins=model.bin_edges_).fit(
        x[75:], y[75:]
    )
    np.testing.assert_allclose(given.predict_proba(x), model.predict_proba(x))
    x[3, 2] = np.nan
    assert np.isfinite(model.predict_proba(x)).all()
    with pytest.raises(ValueError, match="cannot be merged"):
        CategoricalNB(bins=5).fit(x[:75], y[:75]) + CategoricalNB(bins=5).fit(x[75:], y[75:])


@pytest.mark.parametrize("classes", [2, 3])
def test_names_have_no_coefficients(classes: int) -> None:
    x, y = np.array(list("aabbcc"))[:, None], np.arange(6) % classes
    assert not hasattr(CategoricalNB().fit(x, y), "coef_")
    assert not hasattr(MixedNB().fit(x, y), "coef_")


def test_two_classes_of_independent_features_with_one_variance_have_coefficients() -> None:
    x, y = CASES[0].draw(60)
    model = GDA("tied_diagonal").fit(x, y == y[0])
    log_p = model.predict_log_proba(x)
    np.testing.assert_allclose((x @ model.coef_.T + model.intercept_)[:, 0], log_p[:, 1] - log_p[:, 0], atol=1e-8)


def test_sparse_rows_are_taken_apart_as_dense_ones() -> None:
    model = MultinomialNB().fit(WORDS, GROUPS)
    dense, stored = model.explain(ASKED).contributions, model.explain(sp.csr_array(ASKED)).contributions
    for one, two in zip(dense, stored, strict=True):
        np.testing.assert_allclose(two.toarray(), np.where(ASKED, one, 0.0), atol=1e-12)


def test_a_row_without_a_known_cell_is_explained_by_the_prior() -> None:
    x, y = CASES[0].draw(60)
    model = GDA("full").fit(x, y)
    explained = model.explain(np.full((1, x.shape[1]), np.nan))
    log_prior = np.log(model.priors_)
    np.testing.assert_allclose(explained.log_odds, (log_prior - log_prior[0])[None], atol=1e-12)


def test_rows_with_missing_cells_are_projected_where_the_classes_expect_them() -> None:
    x, y = CASES[0].draw(60)
    model = GDA("diagonal").fit(x, y)
    gappy = x[:1].copy()
    gappy[0, 1] = np.nan
    x[0, 1] = (model.predict_proba(gappy) @ model.means_)[0, 1]
    np.testing.assert_allclose(model.transform(gappy), model.transform(x[:1]), rtol=1e-9)
    gappy[0, 1] = np.inf
    with pytest.raises(ValueError, match=r"X\[0, 1\] is inf; it must be finite, or NaN where it is missing"):
        model.transform(gappy)


def test_unlabelled_rows_are_taken_in_for_a_bounded_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(em_unlabelled, "STEPS", 2)
    x, y = CASES[0].draw(60)
    model = GDA("tied").fit(x[:20], y[:20], unlabelled=x[20:])
    assert len(model.em_trace_) == 2


def test_unlabelled_names_without_smoothing_have_no_prior() -> None:
    x = np.array(list("aabb"))[:, None]
    model = CategoricalNB(alpha=0.0).fit(x, [0, 0, 1, 1], unlabelled=x)
    np.testing.assert_allclose(np.exp(model.feature_log_prob_[0]), np.eye(2))


def test_a_missing_cell_of_pandas_is_no_category() -> None:
    cells = np.array(["a", "b", pd.NA, "a"], dtype=object)[:, None]
    model = CategoricalNB().fit(cells, [0, 1, 1, 0])
    assert list(model.categories_[0]) == ["a", "b"]
    np.testing.assert_allclose(model.predict_proba(cells[2:3]), [[0.5, 0.5]])


def test_classes_are_drawn_as_asked() -> None:
    x, y = CASES[0].draw(60)
    wanted = np.array([y[0], y[0], y.max()])
    drawn, classes = GaussianNB().fit(x, y).sample(3, y=wanted, random_state=0)
    np.testing.assert_array_equal(classes, wanted)
    assert drawn.shape == (3, x.shape[1])


def test_a_class_without_words_and_smoothing_is_refused() -> None:
    model = MultinomialNB(alpha=0).partial_fit(WORDS, GROUPS, classes=[*np.unique(GROUPS), "other"])
    for rows in (WORDS, sp.csr_array(WORDS)):
        with pytest.raises(ValueError, match=r"class 'other' has no counts: .*; give alpha > 0"):
            model.predict_proba(rows)


def test_unlabelled_numbers_may_be_smoothed() -> None:
    x, y = CASES[0].draw(60)
    model = MixedNB(alpha={"numeric": 1.0}).fit(x[:20], y[:20], unlabelled=x[20:])
    assert (np.diff(model.em_trace_) >= 0).all()


def test_many_small_batches_are_summed_before_they_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_MOST_HELD", 200)
    x, y = CASES[0].draw(60)
    model = GaussianNB()
    for row in range(60):
        model.partial_fit(x[row : row + 1], y[row : row + 1], classes=np.unique(y))
    np.testing.assert_allclose(model.predict_proba(x), GaussianNB().fit(x, y).predict_proba(x), rtol=1e-9)


def test_models_of_other_features_do_not_merge() -> None:
    one, two = (GaussianNB().fit(pd.DataFrame({name: [0.0, 1.0, 2.0, 3.0]}), [0, 0, 1, 1]) for name in "ab")
    with pytest.raises(ValueError, match=r"models of the features \['a'\] and \['b'\] cannot be merged"):
        _ = one + two


def test_a_class_that_was_forgotten_is_never_chosen_where_cells_were_missing() -> None:
    x, y = CASES[0].draw(60)
    gone = y == y.max()
    x[np.flatnonzero(~gone)[:2], [0, 1]] = np.nan
    model = GDA("diagonal", missing="em").fit(x, y)
    model.forget(x[gone], y[gone])
    same = GDA("diagonal", missing="em").fit(x[~gone], y[~gone])
    np.testing.assert_allclose(model.predict_proba(x)[:, :-1], same.predict_proba(x), atol=1e-9)


def test_a_model_is_estimated_from_a_sum_that_is_set() -> None:
    x = np.random.default_rng(0).normal(size=(40, 3))
    y = np.repeat(["a", "b"], 20)
    one, two, both = (GaussianNB().fit(x[rows], y[rows]) for rows in (slice(0, 40, 2), slice(1, 40, 2), slice(40)))
    model = GaussianNB(priors=[0.25, 0.75], temperature=2.0)
    model.set_statistics(one.statistics_ + two.statistics_)
    np.testing.assert_allclose(model.theta_, both.theta_, rtol=1e-12)
    assert model.joint_.prior.tolist() == [0.25, 0.75]
    assert model.joint_.temperature == 2.0


def test_a_sum_of_other_features_is_refused() -> None:
    one, two = (GaussianNB().fit(np.eye(width), np.arange(width)) for width in (2, 3))
    with pytest.raises(ValueError, match="the sum is of 3 features, the model of 2"):
        one.set_statistics(two.statistics_)
    assert one.predict(np.eye(2)).tolist() == [0, 1]


def test_unfitted_models_have_no_joint_distribution() -> None:
    with pytest.raises(NotFittedError):
        _ = GaussianNB().joint_
