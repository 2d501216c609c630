"""Text predictor: naive Bayes on the words of the text columns alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.kernels import Batch
from suffice.kernels.engine import default_engine
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents
from suffice.store.parameters import decode_parameters
from suffice.tables.encoding import Block
from suffice.tables.errors import TableError, kind_cure
from suffice.tables.predictors.base import EncodedRows, Predictor, StatisticsPredictor
from suffice.tables.schema import Feature

if TYPE_CHECKING:
    from suffice.text import DocumentCounts, Features
    from suffice.text.explanation import TextExplanation
    from suffice.text.scorer import LinearScorer


#: Parameters of :class:`suffice.TextClassifier` that the scores depend on, as a file has them.
_PARAMETERS: dict[str, Any] = {
    "model": "multinomial",
    "presence": None,
    "alpha": "auto",
    "class_prior": None,
    "temperature": "auto",
    "min_documents": 1,
    "max_share": 1.0,
    "max_words": None,
}
#: Settings of the file of a text classifier over all words.
_SETTINGS: dict[str, Any] = {
    "parameters": _PARAMETERS,
    "features": "words",
    "vocabulary": {"kind": "Vocabulary", "words": False},
    "form": "multinomial",
}


class TextPredictor(StatisticsPredictor):
    """Naive Bayes on the words of all text columns together."""

    def prepare(self, sample: Block) -> None:
        """Raise if there is no text column."""
        if not any(feature.kind == "text" for feature in sample.features):
            raise TableError("the model 'text' reads text, and no column holds any: give --kind COLUMN=text")

    def learn(self, rows: Iterable[EncodedRows]) -> Self:
        """Fit the model to blocks of rows."""
        for block, codes in rows:
            self.add(block, codes)
        return self

    @staticmethod
    def texts(block: Block) -> list[str]:
        """Return the joined text columns of each row."""
        columns = [
            column for feature, column in zip(block.features, block.columns, strict=True) if feature.kind == "text"
        ]
        return list(map("\n".join, zip(*columns, strict=True)))

    def scores(self, block: Block) -> FloatArray:
        """Return the log-probabilities of the classes, (n, k)."""
        scores = np.full((block.rows, len(self.labels)), -np.inf)  # of a class without rows
        scores[:, self.labels.positions(self.statistics.labels)] = self._log_posterior(self.texts(block))
        return scores

    def _log_posterior(self, texts: list[str]) -> FloatArray:
        from suffice.text import Documents

        with np.errstate(divide="ignore"):
            found = self._word_scorer.score(Documents(texts), self._features, default_engine(), "log_posterior")
        return np.asarray(found)

    def explain(self, text: str) -> TextExplanation:
        """Return the contributions of the words of a text to the log-odds."""
        from suffice.text.scorer import explain_text

        log_posterior = self._log_posterior([text])[0]
        return explain_text(self._word_scorer, self._features, text, list(self.statistics.labels), log_posterior)

    @property
    def _features(self) -> Features:
        from suffice.text.features import resolve_features

        return resolve_features("words")

    @property
    def _word_scorer(self) -> LinearScorer:
        """What scores texts, estimated from the sums when it is first needed."""
        from suffice.text.scorer import fit_scorer

        if self._words is None:
            assert self._stored is not None
            settings = self._stored.settings
            given = decode_parameters(settings.get("fitted_parameters", settings["parameters"]))
            parameters = SimpleNamespace(**{name: given[name] for name in _PARAMETERS})
            self._words = fit_scorer(self.statistics, "multinomial", False, parameters, default_engine())
        return self._words

    _words: LinearScorer | None = None

    def _set_contents(self, contents: Contents) -> None:
        given = contents.settings
        if any(given[name] != _SETTINGS[name] for name in ("features", "vocabulary", "form")):
            raise ValueError(f"the model 'text' is a multinomial model of words; the file has {given['form']!r}")
        super()._set_contents(contents)
        self._words = None

    def restore_estimator(self, contents: Contents) -> None:
        """Set the sums to those of a file."""
        self._set_contents(contents)

    def _set_statistics(self, statistics: DocumentCounts) -> None:
        names = list(statistics.labels)
        kind = validation.classes_array(statistics.labels, np.array(names)).dtype.kind
        settings = {**(_SETTINGS if self._stored is None else self._stored.settings)}
        settings["classes"] = {"names": names, "dtype": kind, "fixed": False}
        self._set_contents(Contents("TextClassifier", settings, {"sum": statistics}, {}))

    def _sum(self, block: Block, values: npt.NDArray[Any]) -> DocumentCounts:
        """Return the counts of rows; a class that none of them has is not in them."""
        from suffice.text import CountSpec, DocumentCounts, Documents

        present, codes = np.unique(values, return_inverse=True)
        labels = Labels(tuple(self.labels.names[code] for code in present))
        spec = CountSpec(self._features, events=True, presences=False)
        batch = Batch(Documents(self.texts(block)), codes, block.weights)
        return default_engine().accumulate(DocumentCounts.over(labels, spec), batch)

    def add(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Add rows."""
        more = self._sum(block, values)
        self._set_statistics(more if self.statistics is None else self.statistics + more)

    def remove(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Subtract rows."""
        self._set_statistics(self.statistics - self._sum(block, values))

    def finish_removal(self) -> float:
        """Return how many digits of the sums are known."""
        return float(self.statistics.digits_kept())

    def add_columns(self, features: Sequence[Feature], cells: Block) -> None:
        """Add columns that had the same cell in all rows: texts only if they are missing."""
        for feature, column in zip(cells.features, cells.columns, strict=True):
            if feature.kind == "text" and column[0]:
                raise TableError(
                    f"column {feature.name!r} is {column[0]!r} in all rows of a 'text' model, which has not counted "
                    f"its words: fit again with {kind_cure(feature.name, 'text')}"
                )

    def merge(self, other: Any) -> Predictor:
        """Return the model of the rows of both."""
        both = TextPredictor(self.model_type, self.task, self.labels.union(other.labels)[0])
        both._stored = self._stored
        both._set_statistics(self.statistics + other.statistics)
        return both
