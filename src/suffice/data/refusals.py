"""What cannot be done with rows in parts, and why: every refusal of a stream, files, a cluster or a Dataset."""

from __future__ import annotations

from typing import Any, NamedTuple

from suffice.kernels.libraries import cluster_of


class RowsInPartsError(TypeError):
    """Rows in parts were given where rows in memory are needed; the message gives the reason and an alternative."""


class Refusal(NamedTuple):
    """Why rows in parts are refused."""

    reason: str
    cure: str


#: Every refusal, by what is asked for.
REFUSALS = {
    "rows in memory": Refusal(
        "{what} reads all rows at once",
        "give rows in memory: gather X (compute(), toPandas(), np.concatenate), or take some of its rows",
    ),
    "refits": Refusal(
        "cross_validate fits {what} again for every fold, to rows taken by their position",
        "gather X in memory; split it yourself (random_split, randomSplit), and fit and score the parts; or "
        "cross-validate a model that is read from sums, such as GaussianNB",
    ),
    "folds by position": Refusal(
        "folds={what} takes rows by their position among all rows, and a part knows those of its own rows alone",
        "give the number of folds, or 'loo'",
    ),
    "scoring functions": Refusal(
        "scoring={what} is a function of all rows at once",
        "give scoring='accuracy' or 'neg_log_loss', which are sums over rows",
    ),
}


def refused_in_parts(key: str, what: str, x: Any = None) -> RowsInPartsError:
    """Return the error about rows in parts.

    Parameters
    ----------
    key
        The entry of :data:`REFUSALS`.
    what
        The model, method or argument that is refused.
    x
        The rows, where they can be described.

    Examples
    --------
    >>> refused_in_parts("folds by position", "KFold(3)").args[0][:58]
    'X is in parts, and folds=KFold(3) takes rows by their posi'
    """
    refusal = REFUSALS[key]
    library = None if x is None else cluster_of(x)
    where = "in parts" if library is None else f"in parts on {library}"
    return RowsInPartsError(f"X is {where}, and {refusal.reason.format(what=what)}: {refusal.cure}")
