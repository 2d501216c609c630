"""Models of tables and of text, tasks and column kinds: one list for command line, documentation and tests.

It imports no NumPy: ``suffice --help`` reads it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

#: What a model predicts: classes, real numbers, or counts (0, 1, 2, …).
Task = Literal["classes", "numbers", "counts"]
TASKS: tuple[Task, ...] = ("classes", "numbers", "counts")
#: Kinds of the columns of a table; a date becomes several features.
KINDS = ("numeric", "count", "boolean", "category", "date", "text", "ignore")


class ModelType(NamedTuple):
    """A model of a table."""

    name: str
    title: str
    generative: bool
    tasks: tuple[Task, ...]
    reads: Literal["cells", "design", "bins", "text", "near"]  # what it is fitted to
    exact: bool  # whether it is a function of a sum, and so merges and forgets

    @property
    def is_tempered(self) -> bool:
        """Whether held-out rows choose the temperature of its posteriors; the model of text chooses by itself."""
        return self.generative and self.reads != "text"

    @property
    def is_penalised(self) -> bool:
        """Whether its coefficients have a penalty."""
        return self.reads == "design" and not self.exact


MODEL_TYPES = {
    model.name: model
    for model in (
        ModelType("nb", "naive Bayes, each column by its kind", True, ("classes",), "cells", True),
        ModelType("gda", "Gaussian discriminant analysis, one covariance", True, ("classes",), "design", True),
        ModelType(
            "gda-full",
            "Gaussian discriminant analysis, a covariance for each class",
            True,
            ("classes",),
            "design",
            True,
        ),
        ModelType("logistic", "logistic regression", False, ("classes",), "design", False),
        ModelType("softmax", "softmax regression", False, ("classes",), "design", False),
        ModelType("linear", "linear regression", False, ("numbers", "counts"), "design", True),
        ModelType("poisson", "Poisson regression", False, ("counts",), "design", False),
        ModelType("additive", "additive model: functions of columns and of pairs", False, TASKS, "bins", False),
        ModelType("local", "locally weighted regression", False, TASKS, "near", False),
        ModelType("text", "naive Bayes on the words alone", True, ("classes",), "text", True),
    )
}


def models_of(task: Task) -> list[str]:
    """Return the names of the models that predict classes, numbers or counts.

    Examples
    --------
    >>> models_of("counts")
    ['linear', 'poisson', 'additive', 'local']
    """
    return [name for name, model in MODEL_TYPES.items() if task in model.tasks]


TextModelName = Literal["multinomial", "bernoulli", "complement", "boolean", "nb_logistic", "logistic"]


class TextModelType(NamedTuple):
    """A model of documents."""

    name: TextModelName
    title: str
    generative: bool
    counts_words: bool = False  # whether it reads how often a word occurs, and not only whether it does


TEXT_MODEL_TYPES = {
    model.name: model
    for model in (
        TextModelType("multinomial", "naive Bayes on word counts", True, counts_words=True),
        TextModelType("bernoulli", "naive Bayes, Bernoulli event model", True),
        TextModelType("complement", "complement naive Bayes", True),
        TextModelType("boolean", "naive Bayes, a word counted once per document", True),
        TextModelType("nb_logistic", "logistic regression on log-count ratios", False),
        TextModelType("logistic", "logistic regression on words", False),
    )
}
