"""Base of all estimators: the parameters of a fit, attributes from sums, predictions for datasets in parts."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from inspect import signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Self, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

import suffice
from suffice import monitoring, validation
from suffice.data.dataset import (
    Dataset,
    Piece,
    as_dataset,
    dataset_in_parts,
    model_for_parts,
    open_location,
    take_named_columns,
    text_columns,
)
from suffice.data.frames import select_columns
from suffice.families import Family
from suffice.families.response import NAMED, PARAMETRIC
from suffice.html_fragments import fragment, notes, table
from suffice.kernels import Engine
from suffice.kernels.engine import Execution
from suffice.kernels.libraries import is_float32, to_float32
from suffice.parameter_names import NamedParameters
from suffice.partitioned import part_weights, sum_over
from suffice.statistics.base import FloatArray
from suffice.store import StoreError, class_name, parameters

if TYPE_CHECKING:
    from suffice.typing import MatrixLike, VectorLike

P = ParamSpec("P")
R = TypeVar("R")


def write_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of an estimator as JSON values; a family is stored by its name, or its class name.

    Examples
    --------
    >>> from suffice.families import NegativeBinomial
    >>> write_parameters({"family": NegativeBinomial(theta=2.0), "l2": 0.5})
    {'l2': 0.5, 'family': {'family': 'negative_binomial', 'parameters': {'theta': 2.0}}}
    """
    families = {name: value for name, value in given.items() if _is_family(value)}
    plain = parameters.encode_parameters({name: value for name, value in given.items() if name not in families})
    return plain | {name: _write_family(family) for name, family in families.items()}


def read_parameters(plain: Mapping[str, Any], families: Mapping[str, type]) -> dict[str, Any]:
    """Return the parameters that :func:`write_parameters` wrote; ``families`` are the user's classes, by name.

    Examples
    --------
    >>> read_parameters({"family": {"family": "tweedie", "parameters": {"power": 1.5}}}, {})
    {'family': Tweedie(power=1.5)}
    """
    named = {name: value for name, value in plain.items() if isinstance(value, dict) and "family" in value}
    rest = parameters.decode_parameters({name: value for name, value in plain.items() if name not in named})
    return rest | {name: _read_family(value, families) for name, value in named.items()}


def check_parameters(
    kind: type, given: Mapping[str, Any], conversion: Callable[[str, Any], str | None] = lambda name, value: None
) -> None:
    """Raise if a file has parameters that its class does not have.

    Parameters
    ----------
    kind
        The class of the model.
    given
        The parameters in the file.
    conversion
        Given such a parameter and its value, returns what it is in this version; None if that is unknown.
    """
    names = signature(kind).parameters
    for name, value in given.items():
        if name not in names:
            words = conversion(name, value) or f"{kind.__name__} has no {name}"
            raise StoreError(
                f"contains a {kind.__name__} with {name}={value!r}, which is no parameter in suffice "
                f"{suffice.__version__} ({words}): fit it again, or load it with the version that wrote it"
            )


def _is_family(value: Any) -> bool:
    return isinstance(value, Family) or (isinstance(value, type) and issubclass(value, Family))


def _write_family(family: Family | type[Family]) -> dict[str, Any]:
    """Return the name of a family or of its class, and its parameters; None for a family given as a class."""
    kind = family if isinstance(family, type) else type(family)
    own = {**NAMED, **PARAMETRIC}.get(kind.name) is kind
    values = None if isinstance(family, type) else parameters.encode_parameters(family.parameters)
    return {"family": kind.name if own else class_name(kind), "parameters": values}


def _read_family(plain: Mapping[str, Any], given: Mapping[str, type]) -> Any:
    """Return the family with the name in a file; its class is one of those given, and is never imported."""
    name, values = plain["family"], plain["parameters"]
    known: dict[str, type] = {**NAMED, **PARAMETRIC, **given}
    if name not in known:
        short = name.rpartition(":")[2].rpartition(".")[2]
        others = f" (given: {', '.join(given)})" if given else ""
        raise StoreError(
            f"needs the family {name}, which is not part of suffice{others}: import the class yourself and give "
            f"load(path, families=[{short}]); if it was renamed, families={{{name!r}: {short}}}"
        )
    return known[name] if values is None else known[name](**parameters.decode_parameters(values))


#: Parameters of the execution, which do not change the result: they take effect whenever they are set.
RUNNING = ("n_jobs", "device")
#: Cache of the parameter names of each class: reading a signature takes as long as a pass over 100 rows.
_PARAMETERS: WeakKeyDictionary[type, tuple[str, ...]] = WeakKeyDictionary()


class _OwnParameters:
    """The value of ``_params`` before a model has learned, when there is no copy in its ``__dict__``: the model."""

    def __get__(self, model: Any, owner: type) -> Any:
        return model


class FittedRepr:
    """Adds the numbers of a fitted model to scikit-learn's diagram of it in notebooks."""

    def _fitted_html(self) -> str:
        """Return the numbers of the fitted model as HTML; none by default."""
        return ""

    def _numbers_html(self) -> str:
        try:
            check_is_fitted(self)
        except NotFittedError:
            return ""
        return self._fitted_html()

    def _repr_html_inner(self) -> str:
        parent: Any = super()
        return str(parent._repr_html_inner()) + self._numbers_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        parent: Any = super()
        bundle: dict[str, str] = parent._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._numbers_html()
        return bundle


#: Most rows and columns of the numbers of a model in a notebook.
_MOST_SHOWN = 20, 6


def coefficients_html(names: Sequence[str], theta: FloatArray, columns: Sequence[str], remarks: Sequence[str]) -> str:
    """Return a theta, (p, t), as a table with the names of its rows and columns, and remarks below it.

    Examples
    --------
    >>> import numpy as np
    >>> "<td" in coefficients_html(["intercept"], np.array([[1.5]]), ["coefficient"], [])
    True
    """
    return fragment(matrix_html(names, theta, columns, remarks))


def matrix_html(names: Sequence[str], matrix: FloatArray, columns: Sequence[str], remarks: Sequence[str] = ()) -> str:
    """Return the first rows and columns of a matrix as a table with their names, and remarks below it.

    Examples
    --------
    >>> import numpy as np
    >>> matrix_html(["a", "b"], np.eye(2), ["a", "b"]).count("<td")
    4
    """
    rows, across = _MOST_SHOWN
    lines = zip(names[:rows], matrix[:rows], strict=True)
    cells = [(name, *(f"{value:.5g}" for value in line[:across])) for name, line in lines]
    left = [f"... and {len(matrix) - rows} more rows"] if len(matrix) > rows else []
    left += [f"... and {len(columns) - across} more columns"] if len(columns) > across else []
    return table(["", *columns[:across]], cells) + notes([*left, *remarks])


def refuse_addition(model: object, other: Any) -> Any:
    """Raise the error about ``+`` between models that are not estimated from sums over their rows."""
    raise TypeError(
        f"{type(model).__name__} models cannot be added: what they learn depends on all rows at once, and is no sum "
        "over rows; fit one model to all rows. Naive Bayes, GDA, LinearRegression and Ridge add"
    )


class FittedParameters(FittedRepr, NamedParameters):
    """A model whose parameters take effect when it learns: a fitted model does not change when a parameter is set.

    ``fit``, ``partial_fit``, ``forget`` and ``+`` copy the parameters. Predictions depend on these copies only,
    whatever is set later, also if an array that was given as a parameter is changed in place. Parameters of other
    models raise, with what they are here.
    """

    #: Parameters that determine what is summed: after the first rows they cannot change.
    _fixed_parameters: ClassVar[tuple[str, ...]] = ()

    #: Symbols of textbooks, and the attributes that have their values.
    _symbols: ClassVar[Mapping[str, str]] = {}

    #: Whether answers for rows in float32 are in float32: see :func:`keeps_precision`.
    _keeps_float32: ClassVar[bool] = True

    verbose: bool = False  #: whether each pass of a fit is printed to stderr; a parameter of models with several passes

    if TYPE_CHECKING:

        @property
        def _params(self) -> Self:
            """The parameters in effect: an unfitted copy from the last learning; the model itself before the first."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters, as scikit-learn's estimators do."""

        def _check_settings(self) -> None:
            """Raise if a parameter is invalid."""

    else:
        _params = _OwnParameters()

        def __getattr__(self, name):
            """Raise for an attribute that is not there; for a symbol of textbooks, with the attribute that it is."""
            here = self._symbols.get(name.rstrip("_").lower())
            if here is None or here == name:
                return object.__getattribute__(self, name)  # raises, with the words of a property that raised
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}: see {here}")

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; those of other models raise, with what they are here."""
        self._check_names(params)
        parent: Any = super()
        parent.set_params(**params)
        return self

    __add__ = __radd__ = refuse_addition  # models that are estimated from sums of their rows add these

    @property
    def _engine(self) -> Engine | Execution:
        """The engine, or the settings of the default one."""
        own = vars(self)
        return Execution(own.get("n_jobs"), own.get("device"))

    def _blank(self, given: Mapping[str, Any]) -> Self:
        """Return an unfitted model with copies of these parameters, without those of :data:`RUNNING`."""
        return type(self)(**{name: None if name in RUNNING else _copied(value) for name, value in given.items()})

    def _hold_parameters(self) -> None:
        """Copy the current parameters as those of the fitted model."""
        names = _PARAMETERS.get(type(self))
        if names is None:
            names = _PARAMETERS[type(self)] = tuple(self.get_params(deep=False))
        vars(self)["_params"] = self._blank({name: getattr(self, name) for name in names})

    def _parameters_changed(self) -> bool:
        """Whether a parameter, other than those of the execution, was changed since the model last learned."""
        held = vars(vars(self)["_params"])
        return any(name not in RUNNING and not is_same(vars(self)[name], value) for name, value in held.items())

    @contextmanager
    def _learning(self, anew: bool) -> Iterator[None]:
        """Learn with the current parameters, from the start or from more rows; a failure leaves the model unchanged."""
        before, held = dict(vars(self)), self._params
        try:
            if anew or self._parameters_changed():
                vars(self).pop("_params", None)
                self._check_settings()
                if not anew:
                    held._check_fixed(self)
                self._hold_parameters()
                if not anew:
                    self._unread()
            reported = monitoring.CURRENT_FIT.set(
                monitoring.Fit(type(self).__name__, time.perf_counter(), bool(self.verbose))
            )
            try:
                yield
            finally:
                monitoring.CURRENT_FIT.reset(reported)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    def _what_fixes(self) -> dict[str, Any]:
        """Return the parameters that determine what is summed, with their values."""
        return {name: getattr(self, name) for name in self._fixed_parameters}

    def _check_fixed(self, wanted: Self) -> None:
        """Raise if parameters need other sums than those of the model."""
        was = self._what_fixes()
        for name, value in wanted._blank(wanted.get_params(deep=False))._what_fixes().items():
            if not is_same(was[name], value):
                raise ValueError(
                    f"{name}={value!r} needs other sums than those of the fit with {name}={was[name]!r}: fit again, or "
                    f"set {name} back"
                )

    def _unread(self) -> None:
        """Discard estimates that were computed with other parameters."""

    def _parameters_written(self, write: Callable[[dict[str, Any]], dict[str, Any]] = write_parameters) -> Any:
        """Return the parameters for a file: the model's own, and those of the fit if they differ."""
        own, held = (write(model.get_params(deep=False)) for model in (self, self._params))
        return {"parameters": own, **({} if own == held else {"fitted_parameters": held})}

    @classmethod
    def _with_parameters(
        cls,
        settings: Mapping[str, Any],
        read: Callable[[Any, Mapping[str, type]], dict[str, Any]] = read_parameters,
        families: Mapping[str, type] = MappingProxyType({}),
    ) -> Self:
        """Return a model with the parameters that :meth:`_parameters_written` wrote."""
        own = settings["parameters"]
        given, held = (read(plain, families) for plain in (own, settings.get("fitted_parameters", own)))
        given, held = (
            {name: value for name, value in each.items() if not cls._is_without_effect(name, value)}
            for each in (given, held)
        )
        check_parameters(cls, given | held, cls._conversion)
        model = cls(**given)
        vars(model)["_params"] = model._blank(held)
        return model

    @classmethod
    def _is_without_effect(cls, name: str, value: Any) -> bool:
        """Whether a parameter in a file is none of this version, and had no effect with this value."""
        return False


class ReadFromStatistics(FittedParameters):
    """A model that is estimated from sums of statistics, and can be estimated again with other parameters."""

    def with_params(self, **params: Any) -> Self:
        """Return the model of the same rows with other parameters, estimated from the same sums.

        There is no second pass over the rows, and the model itself does not change.

        Parameters
        ----------
        **params
            The parameters to change, by name; the others are those of the last fit. Parameters that change what is
            summed raise.

        Returns
        -------
        Self
            A new fitted model.
        """
        check_is_fitted(self)
        wanted = self._blank(self._params.get_params(deep=False)).set_params(**params)
        wanted._check_settings()
        self._params._check_fixed(wanted)
        self._check_readable(wanted)
        found = self._under(**params)
        found._check_read()
        return found

    def _under(self, **params: Any) -> Self:
        """Return a fitted model with the same sums and other parameters, unchecked."""
        found = copy.copy(self)
        running = {name: vars(self)[name] for name in RUNNING if name in vars(self)}
        held = {**self._params.get_params(deep=False), **running, **params}
        found.set_params(**held)
        found._hold_parameters()
        found._unread()
        return found

    def _check_readable(self, wanted: Self) -> None:
        """Raise if the model with these parameters cannot be estimated from its sums."""

    def _check_read(self) -> None:
        """Estimate the model, so that errors are raised now."""


if TYPE_CHECKING:
    read_attribute = property
else:

    class read_attribute(property):  # noqa: N801 - a decorator, as property is
        """An attribute that is computed from a model's sums: its arrays are read-only, and it cannot be assigned.

        Examples
        --------
        >>> class Model:
        ...     @read_attribute
        ...     def means_(self):
        ...         return np.zeros(2)
        >>> Model().means_ = np.ones(2)
        Traceback (most recent call last):
        AttributeError: means_ of Model is computed from its sums, and cannot be assigned: fit again, or use with_params
        """

        def __get__(self, instance, owner=None):
            found = super().__get__(instance, owner)
            return found if instance is None else _read_only(found)

        def __set__(self, instance, value):
            raise AttributeError(
                f"{self.fget.__name__} of {type(instance).__name__} is computed from its sums, and cannot be assigned: "
                "fit again, or use with_params"
            )


def _read_only(value: Any) -> Any:
    """Return a value whose arrays are read-only."""
    if isinstance(value, np.ndarray):
        view = value.view()
        view.flags.writeable = False
        return view
    if isinstance(value, list):
        return [_read_only(each) for each in value]
    if isinstance(value, dict):
        return {key: _read_only(each) for key, each in value.items()}
    return value


def _copied(value: Any) -> Any:
    """Return a copy of a mutable parameter; others are returned as they are."""
    changeable = isinstance(value, list | tuple | Mapping | set) or hasattr(value, "__array__")
    return copy.deepcopy(value) if changeable else value


def is_same(one: Any, two: Any) -> bool:
    """Whether two values of a parameter are equal.

    Examples
    --------
    >>> is_same([np.arange(2), "a"], [np.arange(2), "a"]), is_same(np.arange(2), np.arange(3)), is_same(1, "1")
    (True, False, False)
    """
    if one is two:
        return True
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return len(one) == len(two) and all(key in two and is_same(value, two[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(two, list | tuple):
        return len(one) == len(two) and all(map(is_same, one, two))
    if hasattr(one, "__array__") or hasattr(two, "__array__"):
        return bool(np.array_equal(np.asarray(one), np.asarray(two)))
    return bool(one == two)


# Datasets in parts.

#: Optional per-row arguments of predict.
PER_ROW = ("offset", "exposure")


def row_wise(*names: str, **several: tuple[str, ...]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Extend a method that predicts row by row to datasets in parts, on their workers.

    The result is lazy, and of the kind of X: a Dask array, or a Spark data frame with one more column, of this name.
    For a stream it is an iterator over the results of each batch.

    Parameters
    ----------
    *names
        The column of the results; or several, for a method that returns a tuple of arrays. With Dask the result is then
        a tuple of arrays; with Spark, a data frame with all columns.
    **several
        By the name of an argument, the columns that are added if the argument is given.
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        arguments = signature(method)

        @wraps(method)
        def answer(*args: P.args, **kwargs: P.kwargs) -> R:
            X = args[1] if len(args) > 1 else kwargs.get("X")
            if isinstance(X, np.ndarray):
                return method(*args, **kwargs)
            model = args[0]
            if not getattr(model, "_reads_one_text", False):
                X = open_location(X)
            elif validation.is_iterator(X):  # over texts, not over batches
                return method(*args, **kwargs)
            data = dataset_in_parts(X, **{key: kwargs[key] for key in PER_ROW if kwargs.get(key) is not None})
            if data is None:
                return method(*args, **kwargs)
            check_is_fitted(model)
            given = arguments.bind(*args, **kwargs).arguments
            named = {key: value for key, value in given.items() if key not in ("self", "X")}
            more = [column for key, columns in several.items() if named.get(key) for column in columns]
            ask = partial(_ask_part, method.__name__, model_for_parts(model, data), named)
            found: R = data.map_rows(ask, [*names, *more], _columns_read(model, X))
            return found

        return answer

    return decorate


def keeps_precision(convert: Callable[[Any], Any] = to_float32) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the answers of a method in float32 for rows in float32, of models that do so, as scikit-learn's.

    Sums, coefficients and the computation stay in float64.

    Parameters
    ----------
    convert
        The conversion of the answers.
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        @wraps(method)
        def answer(*args: P.args, **kwargs: P.kwargs) -> R:
            model: Any = args[0]
            found = method(*args, **kwargs)
            X = args[1] if len(args) > 1 else kwargs.get("X")
            if not (model._keeps_float32 and is_float32(X)):
                return found
            converted: R = convert(found)
            return converted

        return answer

    return decorate


def _columns_read(model: Any, X: Any) -> list[str] | None:
    """Return the columns of a cluster's data frame that a model reads, if known; others are passed through."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        return list(names)
    if not getattr(model, "_reads_one_text", False):
        return None
    texts = text_columns(X)
    if texts is None or len(texts) == 1:
        return texts
    raise ValueError(
        f"X has {len(texts)} columns of strings, {texts}, and {type(model).__name__} reads one text per row: leave "
        "one, and put the others, such as a key, into a struct or a type other than strings"
    )


def _ask_part(method: str, model: Any, arguments: dict[str, Any], piece: Piece) -> Any:
    beside = {key: piece[key] for key in PER_ROW if key in piece}
    return getattr(model, method)(piece["X"], **{**arguments, **beside})


class ClassifierInPartsMixin(ClassifierMixin):  # type: ignore[misc]
    """A scikit-learn classifier whose score takes rows of a cluster, as its fit."""

    def score(self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None) -> float:
        """Return the accuracy: the share of rows whose class is predicted correctly.

        Parameters
        ----------
        X, y, sample_weight
            As for ``fit``. Rows in parts are read once, on their workers.
        """
        data = scored_dataset(self, X, y, sample_weight)
        return float(super().score(X, y, sample_weight)) if data is None else accuracy_in_parts(self, data)


def accuracy_in_parts(model: Any, data: Dataset) -> float:
    """Return the accuracy of a model on rows in parts."""
    right, weight = sum_over(data, partial(_right, model_for_parts(model, data)))
    return float(right / weight)


def scored_dataset(
    model: Any, X: MatrixLike, y: VectorLike, sample_weight: VectorLike, **others: Any
) -> Dataset | None:
    """Return rows in parts for the score of a fitted model, and their other entries; None for rows in memory.

    Rows of a data frame whose columns are given by name are returned, too.
    """
    X = X if getattr(model, "_reads_one_text", False) else open_location(X)
    columns = {"y": y, "sample_weight": sample_weight, **others}
    data = dataset_in_parts(X, **columns)
    if data is None and take_named_columns(X, columns)[0] is not X:
        data = as_dataset(X, **columns)
    if data is not None:
        check_is_fitted(model)
        names = getattr(model, "feature_names_in_", None)
        data = data if names is None else data.map_parts(partial(_with_columns, list(names)))
    return data


def _with_columns(names: list[str], piece: Piece) -> Piece:
    """Return a part without the columns that a model does not read."""
    return {**piece, "X": select_columns(piece["X"], names)}


def _right(model: Any, piece: Piece) -> FloatArray:
    weights = part_weights(piece)
    beside = {key: piece[key] for key in PER_ROW if key in piece}
    right = np.asarray(model.predict(piece["X"], **beside)) == validation.targets(piece["y"], len(weights))
    return np.array([weights @ right, weights.sum()])
