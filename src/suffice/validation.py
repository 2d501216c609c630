"""Input validation shared by all estimators."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.data.dataset import is_in_parts, missing_targets, texts_error, unmasked, wrong_length
from suffice.data.frames import NamedMatrix, data_frame, fill_masked, numbers_of
from suffice.data.refusals import refused_in_parts
from suffice.families.links import array_namespace
from suffice.kernels.array_blocks import to_host
from suffice.kernels.errors import NonFiniteError, weights_underflow
from suffice.kernels.inputs import check_host_memory
from suffice.kernels.libraries import is_foreign, is_sparse
from suffice.kernels.native import is_csr
from suffice.kernels.sparse import intact, intact_sparse
from suffice.kernels.targets import all_finite, are_together, discovered
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray


def is_iterator(x: Any) -> bool:
    """Whether x is a stream of batches that is read once."""
    return isinstance(x, Iterator)


def features(model: Any, x: Any, reset: bool, **checks: Any) -> Any:
    """Return X as an array that engines accept; store its width and column names (reset) or compare them.

    NaN and infinity are accepted: the kernels check every value. The arrays of a sparse matrix are checked before scipy
    uses them, which does not check them. A model whose ``_least_features`` is 0 takes rows without columns.
    """
    if isinstance(x, NamedMatrix):
        return _named(model, x, reset)
    x = plain_rows(x)
    if not isinstance(x, np.ndarray):
        if hasattr(x, "iloc") and x.ndim == 2 and x.shape[1] == 0 and getattr(model, "_least_features", 1) == 0:
            x = np.empty(x.shape)  # a data frame that has an index alone
        elif is_in_parts(x):
            raise refused_in_parts("rows in memory", type(model).__name__, x)
        elif is_sparse(x):
            if x.ndim == 2:  # a sparse matrix may have more columns than there is memory for one number each
                check_host_memory(x.shape, "a coefficient for each column and its slope", 2, x.shape[1])
            x = intact_sparse(x)
    is_plain, least = _is_plain(x, 1), 1
    if not is_plain:
        least = getattr(model, "_least_features", 1)
        is_plain = least == 0 and _is_plain(x, least)
    if is_plain and not (not reset and hasattr(model, "feature_names_in_")):
        if reset:
            model.n_features_in_ = x.shape[1]
            _forget_names(model)
        elif x.shape[1] == model.n_features_in_:
            return x
        else:
            raise wrong_width(model, int(x.shape[1]), model.n_features_in_)
        return x
    if is_foreign(x):
        return _foreign(model, x, reset, least)
    from sklearn.utils.validation import validate_data

    checks = {
        "accept_sparse": "csr",
        "dtype": "numeric",
        "ensure_all_finite": False,
        "ensure_min_features": least,
        **checks,
    }
    frame = None if hasattr(x, "iloc") else data_frame(x)
    try:
        if frame is not None and 0 not in frame.shape:
            return _frame(model, x, frame, reset)
        read = validate_data(model, x, reset=reset, **checks)
    except (TypeError, ValueError) as error:
        raise one_dimension_error(x) or _no_number(model, x) or error from None
    if isinstance(read, np.ndarray):
        check_no_dates("X", read)
    return intact(read) if is_csr(read) else read


def plain_rows(x: Any) -> Any:
    """Return rows with the masked cells of a masked array as missing ones; raise for texts, one for each row.

    Examples
    --------
    >>> plain_rows(["buy now", "hello"])
    Traceback (most recent call last):
    ValueError: X holds texts: use TextClassifier or CountVectorizer; X[0] is 'buy now'
    """
    if type(x) is np.ndarray and x.ndim == 2:
        return x
    x = fill_masked(x)
    if isinstance(x, list | tuple):
        first = x[0] if x else None
    elif len(getattr(x, "shape", ())) == 1 and x.shape[0]:  # an array, or a column of a data frame
        first = np.asarray(x[:1]).tolist()[0]
    else:
        return x
    if isinstance(first, str | bytes):
        raise texts_error([first])
    return x


@contextmanager
def naming_cells() -> Iterator[None]:
    """Raise errors of kernels about NaN and infinity in x with scikit-learn's wording, about X."""
    try:
        yield
    except NonFiniteError as error:
        raise cell_error(error) from None


def cell_error(error: NonFiniteError) -> ValueError:
    """Return a kernel's error about NaN or infinity in x with scikit-learn's wording, about X; others unchanged.

    Examples
    --------
    >>> cell_error(NonFiniteError("x", (2, 0), float("nan")))
    ValueError('Input X contains NaN: X[2, 0] is nan; drop the row or the column, or fill the cell in')
    """
    if error.argument != "x":
        return error
    kind = "NaN" if np.isnan(error.value) else "infinity"
    cell = NonFiniteError("X", error.position, error.value).entry
    named = ValueError(f"Input X contains {kind}: {cell}; drop the row or the column, or fill the cell in")
    for note in getattr(error, "__notes__", []):
        named.add_note(note)
    return named


def check_finite(x: Any) -> None:
    """Raise for the first cell of X that is NaN or infinite."""
    if all_finite(x.data if is_sparse(x) else x):
        return
    cells = x.tocoo() if is_sparse(x) else None
    host = to_host(x) if cells is None else cells.data
    place = np.argwhere(~np.isfinite(host))[0]
    value = float(host[tuple(place)])
    row, column = place if cells is None else (cells.row[place[0]], cells.col[place[0]])
    kind = "NaN" if np.isnan(value) else "infinity"
    raise ValueError(f"Input X contains {kind}: X[{row}, {column}] is {value:g}; it must be finite")


def one_dimension_error(x: object) -> ValueError | None:
    """Return the error for a column or a row in place of a table; None for others."""
    if hasattr(x, "to_frame"):  # a column of a data frame
        name = getattr(x, "name", None)
        column = "X.to_frame()" if name is None else f"table[[{name!r}]] instead of table[{name!r}]"
        return ValueError(f"X is one column, and must be a table, (n, d). Reshape your data: {column}")
    if isinstance(x, Mapping) and not hasattr(x, "shape"):  # a sparse matrix may be one
        return ValueError("X is a dictionary, and must be a table, (n, d): pandas.DataFrame(X) for one of columns")
    try:
        array = np.asarray(x)
    except (TypeError, ValueError):  # of lists of several lengths, of a table whose columns have no common type
        return None
    if array.ndim > 1 or array.dtype.kind not in "biuf":
        return None
    if array.ndim == 0:
        return ValueError("X is a single value, and must have rows and columns, (n, d). Reshape your data: [[x]]")
    return ValueError(
        "X has one dimension, and must have two: rows and columns, (n, d). Reshape your data: np.reshape(X, (-1, 1)) "
        "for n rows of one feature, np.reshape(X, (1, -1)) for one row of d features"
    )


def _dates_error(model: Any, name: str, kind: str) -> ValueError:
    return ValueError(
        f"column {name!r} of X has dates or times ({kind}): {type(model).__name__} needs numbers; convert the column "
        "to numbers, such as days, or drop it"
    )


def _no_number(model: Any, x: Any) -> ValueError | None:
    """Return the error for the first string, date or complex number in X; None if there is none."""
    frame = data_frame(x)
    names = [] if frame is None else [str(name) for name in frame.columns]
    for name, kind in {} if frame is None else frame.schema.items():
        if kind.is_temporal():
            return _dates_error(model, name, str(kind))
    cells = x.to_numpy() if hasattr(x, "to_numpy") else np.asarray(x)
    if cells.ndim != 2:
        return None
    for place, name in enumerate(names if cells.dtype.kind == "O" else ()):  # dates as Spark brings them
        dates = [kind.__name__ for kind in {*map(type, cells[:, place])} if _is_date(kind)]
        if dates:
            return _dates_error(model, name, dates[0])
    try:
        check_no_dates("X", cells)
    except ValueError as error:
        return error
    if cells.dtype.kind not in "USO":
        return None
    for row, column in np.ndindex(cells.shape):
        if isinstance(cells[row, column], str | bytes):
            where = f" in column {names[column]!r}" if names else ""
            return ValueError(
                f"X[{row}, {column}] is {str(cells[row, column])!r}{where}: {type(model).__name__} needs numbers; "
                f"{_category_cures(names[column] if names else None)}"
            )
    return None


def _category_cures(name: str | None) -> str:
    """Return how to use a column of categories."""
    factor = "a + b" if name is None else f"{name if name.isidentifier() else f'`{name}`'} + ..."
    return (
        f"for categories use a formula, suffice.formula.fit('y ~ {factor}', table); or an encoder, "
        "make_pipeline(OneHotEncoder(), model) of scikit-learn; or CategoricalNB or MixedNB"
    )


def _is_plain(x: Any, least: int) -> bool:
    """Whether x needs no conversion and has no column names: a numeric NumPy or CSR matrix that is not empty."""
    known = type(x) is np.ndarray or (not isinstance(x, np.ndarray) and is_sparse(x) and x.format == "csr")
    return bool(known and x.ndim == 2 and x.dtype.kind in "biuf" and x.shape[0] > 0 and x.shape[1] >= least)


def _named(model: Any, x: NamedMatrix, reset: bool) -> npt.NDArray[Any]:
    """Return the numbers of a matrix with named columns; the names are stored, or compared with those stored."""
    if reset:
        model.feature_names_in_ = np.array(x.names, dtype=object)
        model.n_features_in_ = len(x.names)
    elif list(x.names) != list(getattr(model, "feature_names_in_", x.names)):
        raise ValueError(
            f"the columns {list(x.names)!r} are not those that the model was fitted to, "
            f"{list(model.feature_names_in_)!r}: give them in this order"
        )
    elif x.shape[1] != model.n_features_in_:
        raise wrong_width(model, x.shape[1], model.n_features_in_)
    return x.values


def _frame(model: Any, x: Any, frame: Any, reset: bool) -> npt.NDArray[Any]:
    """Return the numbers of a data frame of Arrow, Polars and the like."""
    numbers = numbers_of(frame)
    if numbers is None:
        raise ValueError(f"X has columns that are not numbers, and {type(model).__name__} needs numbers")
    check_columns(model, x, numbers.shape[1], reset)
    return numbers


def check_columns(model: Any, table: Any, width: int, reset: bool) -> None:
    """Store the column names and the width of a table in a model (reset), or compare them with those stored."""
    from sklearn.utils.validation import validate_data

    validate_data(model, table, reset=reset, skip_check_array=True, ensure_2d=False)  # the column names
    if reset:
        model.n_features_in_ = width
    elif width != model.n_features_in_:
        raise wrong_width(model, width, model.n_features_in_)


def _foreign(model: Any, x: Any, reset: bool, least: int) -> Any:
    if x.ndim == 1:
        raise ValueError(
            f"X must have rows and columns, shape (n, d); got shape {tuple(x.shape)}: reshape it to (n, 1)"
        )
    if x.ndim != 2 or x.shape[0] == 0 or x.shape[1] < least:
        raise ValueError(f"X must have rows and columns, shape (n, d); got shape {tuple(x.shape)}")
    if array_namespace(x).isdtype(x.dtype, "complex floating"):
        check_no_dates("X", to_host(x[:1, :1]))
    if reset:
        model.n_features_in_ = int(x.shape[1])
        _forget_names(model)
    elif x.shape[1] != model.n_features_in_:
        raise wrong_width(model, int(x.shape[1]), model.n_features_in_)
    elif hasattr(model, "feature_names_in_"):
        check_columns(model, x, int(x.shape[1]), reset=False)
    return x


def _forget_names(model: Any) -> None:
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_


def wrong_width(model: Any, found: int, expected: int) -> ValueError:
    """Return the error for rows with another number of columns than in the fit."""
    return ValueError(f"X has {found} features, but {type(model).__name__} is expecting {expected} features as input")


def host_array(name: str, values: Any) -> npt.NDArray[Any]:
    """Return what belongs to rows as a NumPy array; raise for masked entries, dates, times and complex numbers.

    Numbers and strings in a list stay what they are.

    Examples
    --------
    >>> host_array("y", [1, "1"])
    array([1, '1'], dtype=object)
    >>> host_array("y", np.array(["2024-12-31", "NaT"], dtype="datetime64[D]"))
    Traceback (most recent call last):
    ValueError: y[0] is 2024-12-31: y holds dates or times, datetime64[D]; convert them to numbers, such as days, or ...
    """
    if not isinstance(values, np.ndarray) and is_foreign(values):
        values = to_host(values)
    column = np.asarray(unmasked(name, values))
    is_list = column.dtype.kind == "U" and isinstance(values, list | tuple)
    if is_list and not {*map(type, values)} <= {str, np.str_, list, tuple}:
        column = np.fromiter(values, dtype=object, count=len(values))
    check_no_dates(name, column)
    return column


def check_no_dates(name: str, column: npt.NDArray[Any], *places: int) -> None:
    """Raise for the first date, time or complex number in an array; ``places`` are its further indices in the whole.

    Examples
    --------
    >>> check_no_dates("X", np.array([1.0, 2 + 1j]), 3)
    Traceback (most recent call last):
    ValueError: Complex data not supported: X[0, 3] is (1+0j); give real numbers, such as absolute values
    """
    at: int | None = 0 if column.dtype.kind in "mMc" and column.size else None
    if column.dtype.kind == "O":
        cells = column.reshape(-1).tolist()
        if any(_is_date(each) or issubclass(each, complex) for each in {*map(type, cells)}):
            at = next(at for at, each in enumerate(cells) if _is_date(type(each)) or isinstance(each, complex))
    if at is None:
        return
    place = tuple(map(int, np.unravel_index(at, column.shape)))
    value, where = column[place], ", ".join(map(str, (*place, *places)))
    if isinstance(value, complex):
        raise ValueError(
            f"Complex data not supported: {name}[{where}] is {value}; give real numbers, such as absolute values"
        )
    what = type(value).__name__ if column.dtype.kind == "O" else column.dtype
    cure = "numbers, such as days, or for classes to strings" if name == "y" else "numbers, such as days"
    raise ValueError(f"{name}[{where}] is {value}: {name} holds dates or times, {what}; convert them to {cure}")


def _is_date(kind: type) -> bool:
    """Whether values of a type are dates or times."""
    dates = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
    return issubclass(kind, dates) or kind.__name__ in ("Period", "NaTType")


def announced_classes(classes: Any) -> Labels:
    """Return the classes that ``partial_fit`` is told in advance."""
    return Labels.of(host_array("classes", classes))


def targets(y: Any, rows: int | None) -> npt.NDArray[Any]:
    """Return y as a NumPy column of class labels, one per row; ``rows=None`` allows any number of them."""
    if y is None:
        raise missing_targets()
    column = host_array("y", y)
    if column.ndim != 1:
        from sklearn.utils.validation import column_or_1d

        column = column_or_1d(column, warn=True)
    if rows is not None and column.shape[0] != rows:
        raise wrong_length("y", rows, column.shape[0])
    if column.dtype.kind == "f":
        _whole(column)
    elif column.dtype.kind not in "biuUO":
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(column)
    return column


def coded(y: Any, rows: int) -> tuple[Labels, Any, npt.NDArray[Any]]:
    """Return the classes of rows, the code of each row, and an empty array of the type of the labels.

    Codes of integers on a device stay on the device.
    """
    on_device = not isinstance(y, np.ndarray) and is_foreign(y)
    found = discovered(y) if on_device and y.shape[0] == rows else None
    if found is not None:
        return *found, to_host(y[:0])
    column = targets(y, rows)
    return *Labels.discover(column), column[:0]


def beside_rows(x: Any, y: Any) -> Any:
    """Return the targets of rows x on the device of x if they are there, else on the host."""
    on_device = not isinstance(y, np.ndarray) and is_foreign(y)
    return to_host(y) if on_device and not are_together(x, y) else y


def numbers_there(y: Any, rows: int, several: bool = False) -> Any:
    """Return y as :func:`numbers` does; finite numbers on a device stay on the device."""
    if isinstance(y, np.ndarray) or not is_foreign(y):
        return numbers(y, rows, several)
    is_shaped = y.ndim in ((1, 2) if several else (1,)) and y.shape[0] == rows
    is_number = array_namespace(y).isdtype(y.dtype, ("integral", "real floating"))
    return y if is_shaped and is_number and all_finite(y) else numbers(to_host(y), rows, several)


def numbers(y: Any, rows: int, several: bool = False) -> FloatArray:
    """Return y in float64: one number per row, (n,), or with ``several`` also several, (n, t)."""
    if y is None:
        raise missing_targets()
    given = host_array("y", y)
    column = _numbers_of(given) if given.dtype.kind in "USO" else np.asarray(given, dtype=np.float64)
    if column.ndim != 1 and not (several and column.ndim == 2):
        from sklearn.utils.validation import column_or_1d

        column = column_or_1d(column, warn=True)
    if column.shape[0] != rows:
        raise wrong_length("y", rows, column.shape[0])
    if not np.isfinite(column).all():
        place = np.unravel_index(int(np.argmin(np.isfinite(column))), column.shape)
        value = column[place]
        where = ", ".join(map(str, place))
        raise ValueError(
            f"Input y contains {'NaN' if np.isnan(value) else 'infinity'}: y[{where}] is {value:g}; drop the rows "
            "without a target"
        )
    return np.ascontiguousarray(column)


def _numbers_of(column: npt.NDArray[Any]) -> FloatArray:
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        strange = next(place for place, each in enumerate(column.ravel()) if not _is_number(each))
        raise ValueError(
            f"y[{strange}] is {str(column.ravel()[strange])!r}: Unknown label type for a regression, which needs "
            "numbers; use LogisticRegression or a naive Bayes model for classes"
        ) from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def per_row(name: str, values: Any, rows: int) -> FloatArray | None:
    """Return one finite number per row, (n,): an offset, trials, an exposure; None stays None."""
    if values is None:
        return None
    column = np.asarray(host_array(name, values), dtype=np.float64)
    if column.ndim == 0:
        column = np.full(rows, column)
    if column.ndim != 1:
        raise ValueError(f"{name} has shape {column.shape}: there must be one number per row of X, ({rows},)")
    if len(column) != rows:
        raise wrong_length(name, rows, len(column))
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        raise ValueError(f"{name}[{bad[0]}] is {column[bad[0]]:g}; it must be finite")
    return np.ascontiguousarray(column)


def groups(values: Any, rows: int) -> npt.NDArray[Any] | None:
    """Return the cluster of each row, (n,), by whole numbers or strings; None stays None.

    Examples
    --------
    >>> groups(["a", "b", None], 3)
    Traceback (most recent call last):
    ...
    ValueError: groups[2] is None; every row needs a group, a whole number or a string
    """
    if values is None:
        return None
    column = np.asarray(unmasked("groups", to_host(values) if is_foreign(values) else values))
    is_date = column.dtype.kind in "mM"
    column = column if is_date else host_array("groups", values)
    if column.ndim != 1:
        raise ValueError(f"groups has shape {column.shape}: there must be one group per row of X, ({rows},)")
    if len(column) != rows:
        raise wrong_length("groups", rows, len(column))
    if column.dtype.kind in "bi" or (column.dtype.kind == "f" and bool((column % 1 == 0).all()) and _is_exact(column)):
        return column.astype(np.int64)
    cells = column.astype(str if column.dtype.kind in "mMS" else column.dtype).tolist()
    if is_date and np.isnat(column).any():
        cells[int(np.argmax(np.isnat(column)))] = None
    for row, each in enumerate(cells):
        if not isinstance(each, str) and not (isinstance(each, int | float) and each == each // 1):  # False for NaN
            raise ValueError(f"groups[{row}] is {each!r}; every row needs a group, a whole number or a string")
        if isinstance(each, str) != isinstance(cells[0], str):
            raise ValueError(f"groups[{row}] is {each!r} and groups[0] is {cells[0]!r}: give numbers or strings alone")
    if cells and isinstance(cells[0], str):
        return np.array(cells)
    for row, each in enumerate(cells):
        if abs(each) >= (2**53 if isinstance(each, float) else 2**63):
            kind = "float64" if isinstance(each, float) else "int64"
            raise ValueError(f"groups[{row}] is {each!r}, too large for {kind} to tell from others: give strings")
    return column.astype(np.int64)


def _is_exact(column: FloatArray) -> bool:
    """Whether whole numbers are so small that float64 tells each from the next."""
    return float(np.abs(column).max(initial=0.0)) < 2**53


def _whole(column: npt.NDArray[Any]) -> None:
    """Raise for numbers that are not labels: NaN, infinity, fractions."""
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        value = column[bad[0]]
        raise ValueError(
            f"Input y contains {'NaN' if np.isnan(value) else 'infinity'}: y[{bad[0]}] is {value:g}; drop the rows "
            "without a label, or give them as unlabelled="
        )
    bad = np.flatnonzero(column != np.floor(column))
    if bad.size:
        raise ValueError(
            f"Unknown label type: continuous. y[{bad[0]}] is {column[bad[0]]:g}; classes are whole numbers, strings "
            "or booleans. Use a regression for numbers"
        )
    if not _is_exact(column):
        row = int(np.argmax(np.abs(column)))
        raise ValueError(
            f"y[{row}] is {column[row]:g}, too large for float64 to tell from others: give integers or strings"
        )


def known_codes(labels: Labels, column: npt.NDArray[Any], fixed: bool) -> tuple[Labels, npt.NDArray[np.int64]]:
    """Return the classes, extended by new labels unless they are fixed, and the code of each row."""
    if len(column) == 1 and column.item() in labels.names:
        return labels, np.array([labels.names.index(column.item())])
    found, codes = Labels.discover(column)
    if found == labels:
        return labels, codes
    if not fixed:
        labels, _, places = labels.union(found)
        return labels, places[codes] if len(found) else codes
    known = set(labels)
    strange = [name for name in found if name not in known]
    if strange:
        row = int(np.argmax(codes == found.names.index(strange[0])))
        raise ValueError(
            f"y[{row}] is {strange[0]!r}: The target label(s) {strange!r} in y do not exist in the initial classes "
            f"{list(labels)!r}"
        )
    return labels, labels.positions(found)[codes]


_one_of_many: ContextVar[bool] = ContextVar("one_of_many", default=False)


@contextmanager
def one_of_many() -> Iterator[None]:
    """Accept rows whose weights are all zero, as in one part of a data set; the total is checked elsewhere."""
    before = _one_of_many.set(True)
    try:
        yield
    finally:
        _one_of_many.reset(before)


def check_weight(total: float) -> None:
    """Raise if the total weight is zero, or underflows."""
    if not total > 0:
        raise ValueError("all sample weights are zero: there is nothing to learn from")
    if total < np.finfo(np.float64).tiny:
        raise weights_underflow(total)


def weights(sample_weight: Any, rows: int) -> FloatArray | None:
    """Return one weight per row in float64; None if all weights are 1."""
    if sample_weight is None:
        return None
    column = np.asarray(host_array("sample_weight", sample_weight), dtype=np.float64)
    if column.ndim == 0:
        column = np.full(rows, column)
    if column.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar; sample_weight has shape {column.shape}")
    if column.shape[0] != rows:
        raise wrong_length("sample_weight", rows, column.shape[0])
    bad = np.flatnonzero(~(np.isfinite(column) & (column >= 0)))
    if bad.size:
        raise ValueError(f"sample_weight[{bad[0]}] is {column[bad[0]]:g}; weights must be finite and not negative")
    if not _one_of_many.get():
        check_weight(float(column.max(initial=0.0)) * max(rows, 1))
    return column


def priors(given: Any, labels: Labels, name: str = "priors", rows: FloatArray | None = None) -> FloatArray:
    """Return the user's class priors, (k,), in the order of the classes; "laplace": the smoothed shares of their rows.

    Examples
    --------
    >>> priors({"spam": 0.2, "ham": 0.8}, Labels.of(["ham", "spam"]))
    array([0.8, 0.2])
    >>> priors("laplace", Labels.of(["ham", "spam"]), rows=np.array([3.0, 0.0]))
    array([0.8, 0.2])
    """
    if isinstance(given, str):
        if given != "laplace" or rows is None:
            also = "'laplace', " if rows is not None else ""
            raise ValueError(f"{name} must be {also}an array, a dictionary or None; got {given!r}")
        return shares(labels, rows + 1.0)
    if isinstance(given, Mapping):
        missing = [label for label in labels if label not in given]
        strange = [label for label in given if label not in set(labels)]
        if missing or strange:
            raise ValueError(f"{name} must name the classes {list(labels)!r}; got {list(given)!r}")
        given = [given[label] for label in labels]
    found = np.asarray(given, dtype=np.float64)
    if found.shape != (len(labels),):
        raise ValueError(
            f"Number of priors must match number of classes: {name} has shape {found.shape} for the "
            f"{len(labels)} classes {list(labels)!r}"
        )
    if not (found >= 0).all():
        place = int(np.argmax(~(found >= 0)))
        raise ValueError(
            f"Priors must be non-negative: {name}[{place}], of {labels.names[place]!r}, is {found[place]:g}"
        )
    total = float(found.sum())
    if not abs(total - 1) <= 1e-8:
        raise ValueError(f"The sum of the priors should be 1: {name} must sum to 1; yours sum to {total:g}")
    return found


def classes_array(labels: Labels, like: npt.NDArray[Any] | None = None) -> npt.NDArray[Any]:
    """Return the classes as scikit-learn's ``classes_``, in the type of the user's labels."""
    if len({isinstance(name, str) for name in labels.names}) > 1 or (like is not None and like.dtype.kind == "O"):
        mixed = np.empty(len(labels.names), dtype=object)
        mixed[:] = labels.names
        return mixed
    plain = np.array(labels.names)
    if plain.dtype.kind == "f" and plain.tolist() != list(labels.names):  # integers that float64 does not hold
        plain = np.array(labels.names, dtype=object)
        plain = plain.astype(np.uint64) if (plain >= 0).all() and (plain < 2**64).all() else plain
    if like is None or like.dtype.kind not in "biuf" or plain.dtype.kind not in "biuf":
        return plain
    cast = plain.astype(like.dtype)
    return cast if np.array_equal(cast, plain) else plain


def shares(labels: Labels, rows: FloatArray) -> FloatArray:
    """Return the share of each class, (k,)."""
    total = float(rows.sum())
    if not total > 0:
        raise ValueError(f"the model has no rows of the classes {list(labels)!r}: fit rows before you predict")
    return rows / total
