"""What a fitted p(x, y) answers: classes, probabilities, evidence, samples, explanations."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from suffice import partitioned
from suffice.engines.array_blocks import to_host
from suffice.engines.choice import is_foreign, is_sparse
from suffice.engines.results import beside, named_classes
from suffice.fitted_parameters import read_attribute
from suffice.generative.conditional import against_average, log_ratio, strongest
from suffice.generative.explanation import Explanation
from suffice.generative.joint import Joint
from suffice.generative.summed import Summed
from suffice.statistics.base import FloatArray

RandomState = int | np.random.Generator | np.random.RandomState | None


class Answering(Summed):
    """The questions a generative classifier answers."""

    #: Whether the joint log-probabilities are those of a density; if not, only log_evidence adds what is left out.
    _joint_is_density: ClassVar[bool] = True

    @partitioned.row_wise("prediction")
    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row, (n,)."""
        codes = self._rows_read(X, "best")
        return named_classes(self.classes_, codes)

    @partitioned.row_wise("probability")
    def predict_proba(self, X: Any) -> Any:
        """Return p(y | x), (n, k)."""
        return self._rows_read(X, "posterior")

    @partitioned.row_wise("log_probability")
    def predict_log_proba(self, X: Any) -> Any:
        """Return log p(y | x), (n, k)."""
        return self._rows_read(X, "log_posterior")

    @partitioned.row_wise("joint_log_probability")
    def predict_joint_log_proba(self, X: Any) -> Any:
        """Return log p(x, y), (n, k)."""
        joint = self._rows_read(X, "joint")
        base = self._joint.conditional.log_base(self._features(X, reset=False)) if self._joint_is_density else None
        return joint if base is None else joint + beside(joint, base)[:, None]

    def _source(self) -> Joint:
        """Return the p(x, y) that rows are thought to come from."""
        return self._joint

    @partitioned.row_wise("log_evidence")
    def log_evidence(self, X: Any) -> Any:
        """Return log p(x) of each row, (n,): low for rows unlike any that were learnt."""
        self._check_fitted()
        x = self._features(X, reset=False)
        joint = self._source()
        evidence = self._ask(joint, x, "evidence")
        base = joint.conditional.log_base(x)
        return evidence if base is None else evidence + beside(evidence, base)

    @read_attribute
    def coef_(self) -> FloatArray:
        """The coefficients of the log-odds, where they are linear in x: (1, d) for two classes, else (k, d)."""
        return self._theta()[0]

    @read_attribute
    def intercept_(self) -> FloatArray:
        """The intercepts of the log-odds, where they are linear in x: (1,) for two classes, else (k,)."""
        return self._theta()[1]

    def _theta(self) -> tuple[FloatArray, FloatArray]:
        joint = self._joint if hasattr(self, "_memory") else None
        two = joint is not None and len(joint.labels) == 2
        theta = None if joint is None else joint.apart if two else joint.theta
        if theta is None or joint is None:
            raise AttributeError(f"the posterior of this {type(self).__name__} is not linear in x: it has no coef_")
        coef, intercept = theta.coef / joint.temperature, theta.intercept / joint.temperature
        return (log_ratio(coef[1:], coef[:1]), log_ratio(intercept[1:], intercept[:1])) if two else (coef, intercept)

    def sample(self, n: int = 1, y: Any = None, random_state: RandomState = None, **how: Any) -> tuple[Any, Any]:
        """Draw rows and their classes from the model.

        Parameters
        ----------
        n
            How many rows.
        y
            The class of the rows, or one class per row; drawn from the priors by default.
        random_state
            A seed or generator, for the same rows again.

        Returns
        -------
        X, y
            Rows, (n, d), and their classes, (n,).
        """
        joint = self._source()
        random = _generator(random_state)
        if y is None:
            codes = joint.draw_classes(n, random)
        elif np.ndim(y) == 0:
            codes = np.repeat(joint.labels.encode([y]), n)
        else:
            codes = joint.labels.encode(y)
        return self._as_given(joint.conditional.sample(codes, random, **how)), self.classes_[codes]

    def _as_given(self, rows: Any) -> Any:
        """Return drawn rows in the form the user's rows have."""
        return rows

    def explain(self, X: Any, against: Any = None) -> Explanation:
        """Take the log-odds of rows apart, feature by feature.

        Parameters
        ----------
        X
            Rows, (n, d).
        against
            The class that log-odds are taken against; the first class by default, so that for two classes they
            are those of the second.

        Returns
        -------
        Explanation
            Its contributions and base, which holds the prior, add up exactly to the log-odds. A cell that a class
            cannot have adds -inf to it: see :attr:`Explanation.impossible`.
        """
        joint = self._joint
        x = self._features(X, reset=False)
        x = x if isinstance(x, np.ndarray) or not is_foreign(x) else to_host(x)
        parts, base = joint.contributions(self._readable(joint, x))
        place = 0 if against is None else int(joint.labels.encode([against])[0])
        return Explanation(
            classes=self.classes_,
            against=self.classes_[place],
            features=self._feature_names(),
            values=_shown(X),
            parts=[part / joint.temperature for part in parts],
            level=base / joint.temperature,
            log_prior=joint.log_prior,
        )

    def top_features(self, n: int = 10) -> dict[Any, list[tuple[str, float]]]:
        """Return the features that speak most for each class, with what one unit of them adds to its log-odds.

        The odds are those against the average of all classes; only for models whose posterior is linear in x. They are
        infinite for a feature that is impossible in some classes.
        """
        theta = self._joint.theta
        if theta is None:
            raise AttributeError(f"the posterior of this {type(self).__name__} is not linear in x: use explain(X)")
        apart = against_average(theta.coef) / self._joint.temperature
        names = self._feature_names()
        return {
            label: [(str(names[j]), float(row[j])) for j in strongest(row, own)[:n]]
            for label, row, own in zip(self.classes_.tolist(), apart, theta.coef, strict=True)
        }

    def _feature_names(self) -> npt.NDArray[Any]:
        names = getattr(self, "feature_names_in_", None)
        return np.array([f"x{j}" for j in range(self.n_features_in_)]) if names is None else np.asarray(names)


def _generator(random_state: RandomState) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def _shown(X: Any) -> Any:
    """Return the rows as the user gave them, to be looked up cell by cell."""
    if is_sparse(X):
        return X.tocsr()
    return X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
