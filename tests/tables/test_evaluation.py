"""Evaluation of table models beside scikit-learn, and in batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics

import suffice
from suffice.metrics import Evaluation
from suffice.statistics import Labels
from suffice.tables import TableError
from tests.tables.tables_data import houses, near

TRAIN, TEST = houses(300, seed=1, missing=0.1), houses(400, seed=2, missing=0.1)


def test_two_classes() -> None:
    model = suffice.fit(TRAIN, "sold", "nb")
    found, p = model.evaluate(TEST), model.predict_proba(TEST)
    summary = found.summary()
    truth = (TEST.sold == "y").astype(int)
    assert found.rows == 400
    assert summary["accuracy"] == metrics.accuracy_score(TEST.sold, model.predict(TEST))
    assert summary["log loss"] == pytest.approx(metrics.log_loss(TEST.sold, p))
    assert summary["ROC AUC"] == pytest.approx(metrics.roc_auc_score(truth, p[:, 1]), abs=1e-3)
    near(found.confusion, metrics.confusion_matrix(TEST.sold, model.predict(TEST)))


def test_the_brier_score_of_two_classes() -> None:
    model = suffice.fit(TRAIN, "sold", "nb")
    expected = metrics.brier_score_loss((TEST.sold == "y").astype(int), model.predict_proba(TEST)[:, 1])
    assert model.evaluate(TEST).summary()["Brier score"] == pytest.approx(expected)


def test_many_classes() -> None:
    model = suffice.fit(TRAIN.drop(columns="sold"), "street", "softmax")
    known = TEST[TEST.street.notna()]
    found, p, said = model.evaluate(TEST), model.predict_proba(known), model.predict(known)
    assert found.rows == len(known)
    assert found.summary()["log loss"] == pytest.approx(metrics.log_loss(known.street, p))
    hot = (known.street.to_numpy()[:, None] == model.classes_).astype(float)
    assert found.summary()["Brier score"] == pytest.approx(float(((p - hot) ** 2).sum(axis=1).mean()))
    precision, recall, f1, rows = metrics.precision_recall_fscore_support(known.street, said, zero_division=np.nan)
    each = pd.DataFrame(found.per_class())
    assert each["class"].tolist() == model.classes_.tolist()
    near(each["recall"], recall)
    near(each["precision"], precision)
    near(each["F1"], f1)
    assert each["rows"].tolist() == rows.tolist()


def test_numbers() -> None:
    model = suffice.fit(TRAIN, "price", "linear")
    found, said = model.evaluate(TEST).summary(), model.predict(TEST)
    assert found["R²"] == pytest.approx(metrics.r2_score(TEST.price, said))
    assert found["RMSE"] == pytest.approx(metrics.root_mean_squared_error(TEST.price, said))
    assert found["MAE"] == pytest.approx(metrics.mean_absolute_error(TEST.price, said))
    assert model.score(TEST) == found["R²"]


def test_counts() -> None:
    model = suffice.fit(TRAIN.dropna(subset="rooms").reset_index(drop=True), "rooms", "poisson", task="counts")
    known = TEST.dropna(subset="rooms").reset_index(drop=True)
    found, said = model.evaluate(TEST).summary(), model.predict(known)
    assert found["Poisson deviance"] == pytest.approx(metrics.mean_poisson_deviance(known.rooms, said))
    assert found["R²"] == pytest.approx(metrics.r2_score(known.rooms, said))


def test_measures_of_parts_are_those_of_the_whole() -> None:
    random = np.random.default_rng(0)
    p = random.dirichlet([1, 1], 1000)
    codes = (random.random(1000) < p[:, 1]).astype(int)
    whole, parts = Evaluation("classes", Labels(("a", "b"))), Evaluation("classes", Labels(("a", "b")))
    whole.add(p, codes)
    for start in range(0, 1000, 170):
        parts.add(p[start : start + 170], codes[start : start + 170])
    assert parts.summary() == pytest.approx(whole.summary())
    values = random.normal(1e6, 1.0, 1000)
    whole, parts = Evaluation("numbers", Labels()), Evaluation("numbers", Labels())
    whole.add(values + 0.5, values)
    for start in range(0, 1000, 170):
        parts.add(values[start : start + 170] + 0.5, values[start : start + 170])
    assert parts.summary() == pytest.approx(whole.summary())
    assert whole.summary()["R²"] == pytest.approx(metrics.r2_score(values, values + 0.5), abs=1e-9)


def test_deviances_of_parts_are_those_of_the_whole() -> None:
    """Rates near nothing are held to the same floor in every part."""
    values, rates = np.array([0.0, 0.0, 900.0, 1000.0]), np.array([1e-6, 1e-6, 900.0, 1000.0])
    whole, parts = Evaluation("counts", Labels()), Evaluation("counts", Labels())
    whole.add(rates, values)
    parts.add(rates[:2], values[:2])
    parts.add(rates[2:], values[2:])
    assert parts.summary()["Poisson deviance"] == pytest.approx(whole.summary()["Poisson deviance"])
    assert whole.summary()["Poisson deviance"] == pytest.approx(metrics.mean_poisson_deviance(values, rates))


def test_confidence_and_accuracy_agree_where_probabilities_are_right() -> None:
    random = np.random.default_rng(0)
    p = random.dirichlet([1, 1, 1], 20_000)
    codes = np.array([random.choice(3, p=row) for row in p])
    found = Evaluation("classes", Labels(("a", "b", "c")))
    found.add(p, codes)
    assert found.calibration_error() < 0.02
    sure = Evaluation("classes", Labels(("a", "b", "c")))
    sure.add(np.eye(3)[p.argmax(axis=1)], codes)
    assert sure.calibration_error() == pytest.approx(1 - np.mean(p.argmax(axis=1) == codes), abs=1e-9)


def test_nothing_to_compare_with() -> None:
    model = suffice.fit(TRAIN, "sold", "nb")
    with pytest.raises(TableError, match="no row has a target in 'sold'"):
        model.evaluate(TEST.assign(sold=None))
    with pytest.raises(TableError, match="lacks the column 'sold'"):
        model.evaluate(TEST.drop(columns="sold"))


@pytest.mark.parametrize("form", ["nb", "logistic"])
def test_classes_that_the_model_does_not_know_are_errors(form: str) -> None:
    model = suffice.fit(TRAIN, "sold", form)
    table = TEST.assign(sold=np.where(TEST.index % 10 == 0, "maybe", TEST.sold))
    found, said = model.evaluate(table), model.predict(table)
    assert found.unknown == {"maybe": 40}
    assert found.summary()["accuracy"] == metrics.accuracy_score(table.sold, said)
    known = table[table.sold != "maybe"]
    among = model.evaluate(known)
    near(found.confusion, among.confusion)
    assert found.summary()["ROC AUC"] == among.summary()["ROC AUC"]
    expected = (360 * among.summary()["log loss"] - 40 * np.log(1e-15)) / 400
    assert found.summary()["log loss"] == pytest.approx(expected)
    filled = model.impute(table).to_pandas()  # such a target says nothing about the cells of its row
    assert not filled.area.isna().any()


@pytest.mark.parametrize(("no", "yes"), [("no", "yes"), ("f", "t"), ("0", "1"), ("OFF", "On")])
def test_truth_values_may_be_written_in_words_later(no: str, yes: str, tmp_path: Path) -> None:
    truths = TRAIN.dropna(subset="garden").assign(garden=lambda table: table.garden == "yes", sold=TRAIN.sold == "y")
    model = suffice.fit(truths[["area", "garden", "sold"]], "sold", "nb")
    assert model.schema_.field("garden").type == "truth"
    words = truths.assign(**{name: np.where(truths[name], yes, no) for name in ("garden", "sold")})
    words.to_csv(tmp_path / "words.csv", index=False)
    near(model.predict_proba(tmp_path / "words.csv"), model.predict_proba(truths))
    assert model.evaluate(tmp_path / "words.csv").summary() == model.evaluate(truths).summary()
