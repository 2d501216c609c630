"""What every generative classifier is: it learns, answers, and can be kept in a file."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from suffice import door, partitioned
from suffice.fitted_parameters import read_attribute
from suffice.generative.answers import Answering
from suffice.generative.learning import Learning
from suffice.generative.memory import Memory
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents, Stored, parameters


class GenerativeClassifier(Stored, partitioned.ClassifierInPartsMixin, Learning, Answering):
    """A classifier that knows p(x, y): it describes each class, and decides by Bayes' rule."""

    def _contents(self) -> Contents:
        self._check_fitted()
        return Contents(
            kind=type(self).__name__,
            settings={
                **self._parameters_written(),
                "chosen": dict(self._chosen),
                "classes": {"names": list(self._memory.labels), "dtype": self.classes_.dtype.kind},
                "classes_fixed": self._memory.fixed,
                "features": self.n_features_in_,
                "feature_names": parameters.feature_names(self),
                "digits_lost": getattr(self, "digits_lost_", 0.0),
                **self._more_settings(),
            },
            statistics={"sum": self.statistics_},
            arrays={},
        )

    def _more_settings(self) -> dict[str, Any]:
        """Return what else a file must hold for the model to go on."""
        return {}

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings = contents.settings
        model = cls._with_parameters(settings, families=contents.families)
        labels = Labels(tuple(settings["classes"]["names"]))
        model._chosen = dict(settings["chosen"])
        parameters.restore_features(model, settings)
        if settings["digits_lost"]:
            model.digits_lost_ = float(settings["digits_lost"])
        model._restore(settings)
        like = np.empty(0, dtype=object) if settings["classes"]["dtype"] == "O" else None
        statistics: Any = contents.statistics["sum"]
        if statistics.labels != labels:
            raise ValueError(f"the sum is of the classes {list(statistics.labels)!r}, the model of {list(labels)!r}")
        features = getattr(statistics, "features", model.n_features_in_)
        if features != model.n_features_in_:
            raise ValueError(f"the sum is of {features} features, the model of {model.n_features_in_}")
        model._memory = Memory(labels, statistics, bool(settings["classes_fixed"]))
        model.classes_ = door.classes_array(labels, like)
        _ = model._joint
        return model

    def _restore(self, settings: Any) -> None:
        """Take back what :meth:`_more_settings` wrote."""


class PriorsGiven(GenerativeClassifier):
    """A classifier whose class priors are the classes' shares of the rows, unless the user gives ``priors``."""

    priors: Any

    def _class_weights(self, statistics: Any) -> FloatArray:
        """Return the weight of the rows of each class, (k,)."""
        weights: FloatArray = statistics.weights
        return weights

    def _prior_is_learnt(self) -> bool:
        return self._params.priors is None

    def _prior(self, statistics: Any) -> FloatArray:
        if self._params.priors is not None:
            return door.priors(self._params.priors, statistics.labels)
        return door.shares(statistics.labels, self._class_weights(statistics))

    @read_attribute
    def class_count_(self) -> FloatArray:
        """The weight of the rows of each class, (k,)."""
        return self._class_weights(self.statistics_)
