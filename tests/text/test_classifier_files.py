"""Models in files, in pickles and in other processes: they go on where they were."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save

import suffice
from suffice import TextClassifier
from suffice.store import StoreError, read, restore, write
from suffice.text import Features, HashedVocabulary
from suffice.text.fitted import FittedText

from .corpora import (
    DISCRIMINATIVE,
    FORMS,
    GENERATIVE,
    SPAM,
    SPAM_CLASSES,
    classifier,
    corpus,
    each,
    each_form,
    each_vocabulary,
)
from .test_classifier_laws import assert_same

FEATURES = {
    "words": "words",
    "bigrams": "bigrams",
    "chosen": Features(runs=(1, 2), accents="unicode", numbers="fold", shortest=1, longest=9),
    "stop words": Features(stop_words=("the", "of")),
    "english": Features(stop_words="english"),
    "characters": Features("characters", runs=(2, 3), lower=False),
}
VOCABULARIES = {
    "exact": "exact",
    "hashed": HashedVocabulary(bits=10),
    "few names": HashedVocabulary(bits=11, named=3),
    "list": ["free", "money", "goal", "team", "lunch", "straße", "never seen"],
}


#: In which order a file's arrays come is by chance.
each_form_in_a_file = each(FORMS)


@pytest.mark.parametrize("form", DISCRIMINATIVE)
@each_vocabulary
def test_documents_that_are_kept_are_read_in_whichever_order_arrays_come(form: str, vocabulary: str) -> None:
    documents = classifier(form, vocabulary).fit(SPAM, SPAM_CLASSES).statistics_
    arrays = documents.to_arrays()
    for order in (list(arrays), list(arrays)[::-1]):
        again = type(documents).from_arrays(type(documents.vocabulary).__name__, {name: arrays[name] for name in order})
        np.testing.assert_array_equal(again.counts.toarray(), documents.counts.toarray())
        np.testing.assert_array_equal(again.weights, documents.weights)


def kept(model: Any, path: Path) -> Any:
    model.save(path)
    return suffice.load(path)


def assert_goes_on(make: Any, asked: list[str], path: Path) -> None:
    """Learn, keep, load; then learn, merge and forget, as a model that was never in a file."""
    texts, y = corpus(40)
    model = make().partial_fit(texts[:30], y[:30], classes=np.unique(y))
    again = kept(model, path)
    assert type(again) is TextClassifier
    assert again.model_ == model.model_
    np.testing.assert_allclose(again.predict_proba(asked), model.predict_proba(asked), rtol=1e-12, atol=1e-12)
    assert again.top_words(n=4).keys() == model.top_words(n=4).keys()
    assert [str(each) for each in again.explain(asked)] == [str(each) for each in model.explain(asked)]
    whole = make().fit(texts, y)
    assert_same(again + make().partial_fit(texts[30:], y[30:]), whole, asked)
    again.partial_fit(texts[30:], y[30:])
    assert_same(again, whole, asked)
    again.forget(texts[30:], y[30:])
    assert_same(again, model, asked)


@each_form_in_a_file
@pytest.mark.parametrize("vocabulary", ["exact", "hashed", "few names"])
def test_a_loaded_model_learns_merges_and_forgets(form: str, vocabulary: str, tmp_path: Path) -> None:
    asked = [*corpus(20, seed=1)[0], "", "zebra"]
    assert_goes_on(lambda: classifier(form, vocabulary=VOCABULARIES[vocabulary]), asked, tmp_path / "a.model")


@each_form_in_a_file
def test_a_given_vocabulary_is_kept(form: str, tmp_path: Path) -> None:
    texts, y = corpus(40)
    model = classifier(form, vocabulary=VOCABULARIES["list"]).fit(texts[:30], y[:30])
    again = kept(model, tmp_path / "a.model")
    assert list(again.vocabulary_) == VOCABULARIES["list"]
    assert_same(again, model, texts)
    assert_same(
        again.partial_fit(texts[30:], y[30:]), classifier(form, vocabulary=VOCABULARIES["list"]).fit(texts, y), texts
    )


@pytest.mark.parametrize(
    ("form", "vocabulary"),
    [("multinomial", "hashed"), ("bernoulli", "exact"), pytest.param("multinomial", "exact", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("features", FEATURES)
def test_features_are_kept(form: str, vocabulary: str, features: str, tmp_path: Path) -> None:
    asked = [*corpus(20, seed=1)[0], "", "zebra"]
    settings = {"features": FEATURES[features], "vocabulary": VOCABULARIES[vocabulary]}
    assert_goes_on(lambda: classifier(form, **settings), asked, tmp_path / "a.model")


@each_form_in_a_file
@pytest.mark.parametrize("presence", [True, None])
def test_what_is_chosen_is_kept(form: str, presence: Any, tmp_path: Path) -> None:
    texts, y = corpus(60)
    model = TextClassifier(form, presence=presence).fit(texts, y)
    again = kept(model, tmp_path / "a.model")
    np.testing.assert_allclose(again.predict_proba(texts), model.predict_proba(texts), rtol=1e-9, atol=1e-12)
    assert again.get_params() == model.get_params()
    if form not in ("nb_logistic", "logistic"):
        assert (again.alpha_, again.temperature_) == (model.alpha_, model.temperature_)


@pytest.mark.parametrize(
    "settings",
    [
        {"class_prior": {"business": 0.2, "private": 0.3, "sport": 0.5}},
        {"class_prior": np.array([0.2, 0.3, 0.5])},
        {"min_documents": 2, "max_share": 0.6, "max_words": 15},
        {"alpha": np.float64(0.25), "temperature": 3, "encoding": "latin-1"},
    ],
    ids=["prior by name", "prior", "words", "numbers"],
)
def test_settings_are_kept(settings: Any, tmp_path: Path) -> None:
    texts, y = corpus(60)
    model = classifier("multinomial", **settings).fit(texts, y)
    again = kept(model, tmp_path / "a.model")
    np.testing.assert_allclose(again.predict_proba(texts), model.predict_proba(texts), rtol=1e-12)
    for name, value in settings.items():
        np.testing.assert_equal(again.get_params()[name], value.tolist() if isinstance(value, np.ndarray) else value)
    # Words that are not read are in the file, too.
    every = {"min_documents": 1, "max_share": 1.0, "max_words": None}
    assert_same(again.with_params(**every), model.with_params(**every), texts)


@pytest.mark.parametrize(
    "labels",
    [[0, 1, 2], [True, False, True], [1.0, 2.0, 5.0], ["ä", "b", "c"], np.array(["x", "yy", 3], dtype=object)],
    ids=str,
)
@each_form_in_a_file
def test_labels_of_any_kind(form: str, labels: Any, tmp_path: Path) -> None:
    texts, y = corpus(60)
    model = classifier(form).fit(texts, np.asarray(labels)[np.unique(y, return_inverse=True)[1]])
    again = kept(model, tmp_path / "a.model")
    assert again.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(again.classes_, model.classes_)
    np.testing.assert_array_equal(again.predict(texts), model.predict(texts))


@each_form_in_a_file
def test_announced_classes_stay_announced(form: str, tmp_path: Path) -> None:
    model = classifier(form).partial_fit(SPAM, SPAM_CLASSES, classes=["ham", "spam"])
    again = kept(model, tmp_path / "a.model")
    with pytest.raises(ValueError, match="'work'"):
        again.partial_fit(["agenda"], ["work"])


@pytest.mark.parametrize("form", ["multinomial", "bernoulli"])
def test_names_of_slots_are_kept(form: str, tmp_path: Path) -> None:
    model = classifier(form, "hashed").fit(SPAM, SPAM_CLASSES)
    again = kept(model, tmp_path / "a.model")
    assert again.top_words("spam", n=5) == model.top_words("spam", n=5)
    assert "cheap" in dict(again.top_words("spam", n=5))


@each_form_in_a_file
def test_documents_that_wait_are_kept(form: str, tmp_path: Path) -> None:
    model = classifier(form).fit(SPAM[:4], SPAM_CLASSES[:4])
    model.partial_fit(SPAM[4:], SPAM_CLASSES[4:])
    assert_same(kept(model, tmp_path / "a.model"), classifier(form).fit(SPAM, SPAM_CLASSES), SPAM)


# Pickles.


@each_form
@each_vocabulary
@pytest.mark.parametrize(
    "way", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))], ids=["copy", "pickle"]
)
def test_pickles_and_copies_go_on(form: str, vocabulary: str, way: Any) -> None:
    texts, y = corpus(40)
    model = classifier(form, vocabulary).fit(texts[:30], y[:30])
    again = way(model)
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(texts))
    again.partial_fit(texts[30:], y[30:])
    whole = classifier(form, vocabulary).fit(texts, y)
    assert_same(again, whole, texts)
    assert_same(model, classifier(form, vocabulary).fit(texts[:30], y[:30]), texts)


@each(FORMS)
@pytest.mark.parametrize(
    "way", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))], ids=["copy", "pickle"]
)
def test_models_pickle_with_documents_that_wait(form: str, way: Any) -> None:
    texts, y = corpus(40)
    model = classifier(form).fit(texts[:30], y[:30])
    model.partial_fit(texts[30:], y[30:])
    assert_same(way(model), classifier(form).fit(texts, y), texts)


# Other processes, and files that are no good.


def test_another_process_loads_them(tmp_path: Path) -> None:
    texts, y = corpus(30)
    (tmp_path / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    for form in GENERATIVE:
        for vocabulary in ("exact", "hashed"):
            model = classifier(form, vocabulary).fit(texts, y)
            model.save(tmp_path / f"{form}-{vocabulary}.model")
            np.save(tmp_path / f"{form}-{vocabulary}.npy", model.predict_proba(texts))
    program = """
import json, sys
from pathlib import Path
import numpy as np
import suffice
assert "suffice.text.classifier" not in sys.modules
home = Path(sys.argv[1])
texts = json.loads((home / "texts.json").read_text(encoding="utf-8"))
files = sorted(home.glob("*.model"))
assert len(files) == 8
for file in files:
    expected = np.load(file.with_suffix(".npy"))
    np.testing.assert_allclose(suffice.load(file).predict_proba(texts), expected, rtol=1e-9, atol=1e-12)
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module", params=["multinomial", "bernoulli"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "a.model"
    classifier(request.param).fit(SPAM, SPAM_CLASSES).save(path)
    return path.read_bytes()


def test_a_newer_format_is_refused(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.model"
    path.write_bytes(whole)
    with safe_open(path, "numpy") as file:
        about = json.loads(file.metadata()["suffice"])
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    newer = json.dumps(about | {"format": about["format"] + 1, "suffice": "99.0"})
    path.write_bytes(save(tensors, metadata={"suffice": newer}))
    with pytest.raises(StoreError, match=r"written by suffice 99\.0, in format .*: upgrade suffice"):
        suffice.load(path)


def test_a_sum_of_something_else_than_documents_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.model"
    classifier("multinomial").fit(SPAM, SPAM_CLASSES).save(path)
    rows = suffice.GaussianNB().fit([[0.0], [1.0]], ["ham", "spam"])
    write(path, replace(read(path), statistics={"sum": rows.statistics_}))
    with pytest.raises(StoreError, match="the sum of a text classifier must be DocumentCounts; got"):
        suffice.load(path)


DAMAGED = r"has the invalid format|is (empty|truncated|not a model file|a safetensors file)|digest does not match"


def test_a_damaged_file_is_refused(whole: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.model"
    for length in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(StoreError, match=DAMAGED):
            suffice.load(path)
    random = np.random.default_rng(0)
    for place in random.integers(0, len(whole), 100):
        hurt = bytearray(whole)
        hurt[place] ^= 1 << random.integers(0, 8)
        path.write_bytes(hurt)
        with pytest.raises(StoreError, match=DAMAGED):
            suffice.load(path)
    path.write_bytes(whole)
    assert suffice.load(path).predict(["money"]) == ["spam"]


@pytest.mark.parametrize("form", GENERATIVE)
@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_files_are_read_without_the_estimator_to_the_same_predictions(
    form: str, features: str, vocabulary: str, tmp_path: Path
) -> None:
    if form == "bernoulli" and vocabulary in ("hashed", "few names"):
        pytest.skip("needs an exact vocabulary")
    model = TextClassifier(form, features=FEATURES[features], vocabulary=VOCABULARIES[vocabulary], encoding="latin-1")
    model.fit(SPAM, SPAM_CLASSES).save(tmp_path / "model")
    fitted = restore(tmp_path / "model", read(tmp_path / "model"), FittedText)
    texts = [*SPAM, "caf\xe9".encode("latin-1"), ""]
    np.testing.assert_array_equal(fitted.predict_proba(texts), model.predict_proba(texts))
    np.testing.assert_array_equal(fitted.classes_, model.classes_)
    assert str(fitted.explain(texts[0])) == str(model.explain(texts[0]))
