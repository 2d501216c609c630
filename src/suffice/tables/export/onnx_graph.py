"""An exported model as an ONNX graph of standard operators, in double precision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from suffice.tables.errors import MissingExtraError, TableError
from suffice.tables.export.runtime import DAY, HOUR, LARGEST_EXPONENT, WEEKDAYS, missing_numbers

#: Versions that runtimes since 2023 read.
IR_VERSION, OPSET, ML_OPSET = 8, 17, 3
#: A missing date: NumPy's NaT.
NO_DATE = np.iinfo(np.int64).min
#: Names of the outputs.
LABEL, PROBABILITIES, PREDICTION = "label", "probabilities", "prediction"
#: Names of the values of a part of a date, by number.
_PARTS = {
    "month": [f"{month:02}" for month in range(1, 13)],
    "weekday": list(WEEKDAYS),
    "hour": [f"{hour:02}" for hour in range(24)],
}


def build_onnx(document: Mapping[str, Any]) -> Any:
    """Return an ONNX model of a document, as :func:`suffice.tables.export.document.export_document` returns it."""
    try:
        import onnx
        from onnx import helper
    except ImportError:
        raise MissingExtraError("ONNX files need the package onnx: pip install 'suffice[onnx]'") from None
    is_classifier = document["task"] == "classes"
    outputs = [LABEL, PROBABILITIES] if is_classifier else [PREDICTION]
    for column in document["columns"]:
        if column["name"] in outputs or not column["name"]:
            raise TableError(f"column {column['name']!r} has the name of an output of the ONNX file: rename it")
    graph = _Graph(document, onnx)
    scores = graph.scores()
    double, labels = onnx.TensorProto.DOUBLE, document["classes"]
    if is_classifier:
        label_type = graph.write_classes(scores)
        found = [
            helper.make_tensor_value_info(LABEL, label_type, ["rows"]),
            helper.make_tensor_value_info(PROBABILITIES, double, ["rows", len(labels)]),
        ]
    else:
        graph.write_number(scores)
        found = [helper.make_tensor_value_info(PREDICTION, double, ["rows"])]
    made = helper.make_graph(graph.nodes, "suffice", graph.inputs(), found, graph.constants)
    model = helper.make_model(
        made,
        producer_name="suffice",
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
        doc_string=f"Prediction of {document['target']}",
    )
    helper.set_model_props(model, {"model": document["model"], "target": document["target"], "task": document["task"]})
    onnx.checker.check_model(model, full_check=True)
    return model


class _Graph:
    """The nodes and constants of a graph; methods add nodes, and return the names of their results."""

    def __init__(self, document: Mapping[str, Any], onnx: Any) -> None:
        self._document, self._onnx = document, onnx
        self._columns = {column["name"]: column for column in document["columns"]}
        self._features = {feature["name"]: feature for feature in document["features"]}
        self._known: dict[Any, str] = {}  # results that several terms read
        self._refused: list[str] = []  # whether a cell of each row is refused
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def inputs(self) -> list[Any]:
        """Return an input for each column."""
        types = self._onnx.TensorProto
        of_kind = {"category": types.STRING, "date": types.INT64}
        words = {
            "category": "name without blanks at its ends; an empty string is missing",
            "date": "microseconds since 1970 in UTC, as NumPy's datetime64[us]; NaT is missing",
            "boolean": "0 or 1; NaN is missing",
            "count": "0, 1, 2, ...; NaN is missing",
            "numeric": "a number; NaN is missing",
        }
        return [
            self._onnx.helper.make_tensor_value_info(
                name, of_kind.get(column["kind"], types.DOUBLE), ["rows"], doc_string=words[column["kind"]]
            )
            for name, column in self._columns.items()
        ]

    # Nodes.

    def _add(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        result = name or f"suffice/{operator}_{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(operator, list(inputs), [result], **attributes))
        return result

    def _constant(self, values: Any, dtype: Any = np.float64) -> str:
        name = f"suffice/constant_{len(self.constants)}"
        array = np.array(values, dtype=dtype)
        self.constants.append(self._onnx.numpy_helper.from_array(array, name))
        return name

    def _whole(self, values: Any) -> str:
        return self._constant(values, np.int64)

    def _column(self, name: str) -> str:
        """Return a vector as a matrix of one column."""
        return self._add("Unsqueeze", name, self._whole([1]))

    def _missing(self, x: str) -> str:
        """Return whether numbers are NaN."""
        return self._add("Not", self._add("Equal", x, x))

    # Cells.

    def _numbers(self, feature: str) -> str:
        """Return a feature as numbers, NaN for missing cells, (n,)."""
        if ("numbers", feature) not in self._known:
            own = self._features[feature]
            found = self._days(own["column"]) if own["part"] == "time" else self._plain_numbers(own["column"])
            self._known["numbers", feature] = found
        return self._known["numbers", feature]

    def _plain_numbers(self, name: str) -> str:
        x, kind = name, self._columns[name]["kind"]
        for mark in missing_numbers(self._document["missing"]):
            x = self._add("Where", self._add("Equal", x, self._constant(mark)), self._constant(np.nan), x)
        bad = self._add("Equal", self._add("Abs", x), self._constant(np.inf))
        if kind == "count":
            broken = self._add("Less", self._add("Floor", x), x)
            bad = self._add("Or", bad, self._add("Or", broken, self._add("Less", x, self._constant(0))))
        elif kind == "boolean":
            either = self._add("Or", *(self._add("Equal", x, self._constant(value)) for value in (0, 1)))
            bad = self._add("Not", self._add("Or", either, self._missing(x)))
        self._refused.append(bad)
        return x

    def _days(self, name: str) -> str:
        days = self._add("Div", self._add("Cast", name, to=self._onnx.TensorProto.DOUBLE), self._constant(DAY))
        return self._add("Where", self._no_date(name), self._constant(np.nan), days)

    def _no_date(self, name: str) -> str:
        return self._add("Equal", name, self._whole(NO_DATE))

    def _part(self, name: str, part: str) -> str:
        """Return a part of dates as its number, from 0, (n,)."""
        within = self._add("Mod", name, self._whole(DAY))
        if part == "hour":
            return self._add("Div", within, self._whole(HOUR))
        days = self._add("Div", self._add("Sub", name, within), self._whole(DAY))
        if part == "weekday":
            return self._add("Mod", self._add("Add", days, self._whole(3)), self._whole(7))
        # The day of a cycle of 400 years that starts on 1 March: leap days end the years.
        day = self._add("Mod", self._add("Add", days, self._whole(719_468)), self._whole(146_097))
        leap = self._add("Sub", day, self._divided(day, 1460))
        leap = self._add("Sub", self._add("Add", leap, self._divided(day, 36_524)), self._divided(day, 146_096))
        year = self._divided(leap, 365)
        before = self._add("Add", self._add("Mul", year, self._whole(365)), self._divided(year, 4))
        day = self._add("Sub", day, self._add("Sub", before, self._divided(year, 100)))
        month = self._divided(self._add("Add", self._add("Mul", day, self._whole(5)), self._whole(2)), 153)
        return self._add("Mod", self._add("Add", month, self._whole(2)), self._whole(12))

    def _divided(self, whole: str, by: int) -> str:
        return self._add("Div", whole, self._whole(by))

    def _codes(self, feature: str, levels: Sequence[str]) -> str:
        """Return the place of each cell among levels: len(levels) for others, len(levels) + 1 for missing cells."""
        key = ("codes", feature, tuple(levels))
        if key not in self._known:
            own = self._features[feature]
            found = self._names(own["column"], levels) if own["part"] is None else self._parts(own, levels)
            self._known[key] = found
        return self._known[key]

    def _names(self, name: str, levels: Sequence[str]) -> str:
        places = {level: place for place, level in enumerate(levels)}
        places |= dict.fromkeys(["", *self._document["missing"]], len(levels) + 1)
        return self._add(
            "LabelEncoder",
            name,
            domain="ai.onnx.ml",
            keys_strings=list(places),
            values_int64s=list(places.values()),
            default_int64=len(levels),
        )

    def _parts(self, feature: Mapping[str, Any], levels: Sequence[str]) -> str:
        place = {level: place for place, level in enumerate(levels)}
        column, part = feature["column"], feature["part"]
        table = self._whole([place.get(name, len(levels)) for name in _PARTS[part]])
        found = self._add("Gather", table, self._part(column, part))
        return self._add("Where", self._no_date(column), self._whole(len(levels) + 1), found)

    def _bins(self, side: Mapping[str, Any]) -> str:
        """Return the bin of each number; the last one for missing cells."""
        key = ("bins", side["feature"], tuple(side["edges"]))
        if key not in self._known:
            x, edges = self._numbers(side["feature"]), side["edges"]
            above = self._add("GreaterOrEqual", self._column(x), self._constant([edges]))
            whole = self._add("Cast", above, to=self._onnx.TensorProto.INT64)
            found = self._add("ReduceSum", whole, self._whole([1]), keepdims=0)
            self._known[key] = self._add("Where", self._missing(x), self._whole(len(edges) + 1), found)
        return self._known[key]

    # Terms, (n, t).

    def scores(self) -> str:
        """Return the intercept and the terms, summed, (n, t)."""
        first, t = next(iter(self._columns)), len(self._document["intercept"])
        shape = self._add("Concat", self._add("Shape", first), self._whole([t]), axis=0)
        start = self._add("Expand", self._constant([self._document["intercept"]]), shape)
        forms = {
            "linear": self._linear,
            "gaussian": self._gaussian,
            "levels": self._levels,
            "bins": self._binned,
            "pair": self._pair,
            "quadratic": self._quadratic,
        }
        parts = [start, *(forms[term["form"]](term) for term in self._document["terms"])]
        return self._add("Sum", *parts) if len(parts) > 1 else start

    def _standardised(self, part: Mapping[str, Any]) -> tuple[str, str]:
        """Return the standardised numbers of a feature, 0 for missing cells, and which are missing, (n, 1)."""
        x, centre = self._column(self._numbers(part["feature"])), self._constant(part["centre"])
        missing = self._missing(x)
        apart = self._add("Sub", self._add("Where", missing, centre, x), centre)
        return self._add("Div", apart, self._constant(part["scale"])), missing

    def _linear(self, term: Mapping[str, Any]) -> str:
        z, missing = self._standardised(term)
        effect = self._add("Mul", z, self._constant([term["coef"]]))
        return self._add("Where", missing, self._constant([term["missing"]]), effect)

    def _gaussian(self, term: Mapping[str, Any]) -> str:
        x, variance = self._column(self._numbers(term["feature"])), np.array(term["variance"])
        z = self._add("Sub", x, self._constant([term["mean"]]))
        square = self._add("Div", self._add("Mul", z, z), self._constant([variance]))
        density = self._add("Add", square, self._constant([np.log(2 * np.pi * variance)]))
        density = self._add("Mul", density, self._constant(-0.5))
        return self._add("Where", self._missing(x), self._constant(0), density)

    def _levels(self, term: Mapping[str, Any]) -> str:
        table = self._constant([*term["values"], term["other"], term["missing"]])
        return self._add("Gather", table, self._codes(term["feature"], term["levels"]))

    def _binned(self, term: Mapping[str, Any]) -> str:
        return self._add("Gather", self._constant([*term["values"], term["missing"]]), self._bins(term))

    def _pair(self, term: Mapping[str, Any]) -> str:
        groups = []
        for side in term["sides"]:
            codes = self._bins(side) if "edges" in side else self._codes(side["feature"], side["levels"])
            groups.append(self._add("Gather", self._whole(side["groups"]), codes))
        values = np.array(term["values"])
        cell = self._add("Add", self._add("Mul", groups[0], self._whole(values.shape[1])), groups[1])
        return self._add("Gather", self._constant(values.reshape(-1, values.shape[2])), cell)

    def _quadratic(self, term: Mapping[str, Any]) -> str:
        rows = self._add("Concat", *map(self._design_column, term["columns"]), axis=1)
        found = []
        for mean, whitener in zip(term["mean"], term["whitener"], strict=True):
            apart = self._add("Sub", rows, self._constant([mean]))
            z = self._add("MatMul", apart, self._constant(np.transpose(whitener)))
            found.append(self._add("ReduceSum", self._add("Mul", z, z), self._whole([1]), keepdims=1))
        return self._add("Mul", self._add("Concat", *found, axis=1), self._constant(-0.5))

    def _design_column(self, column: Mapping[str, Any]) -> str:
        if "centre" in column:
            return self._standardised(column)[0]
        if "level" in column:
            found = self._add("Equal", self._codes(column["feature"], [column["level"]]), self._whole(0))
        elif column["is_category"]:
            found = self._add("Equal", self._codes(column["feature"], []), self._whole(1))
        else:
            found = self._missing(self._numbers(column["feature"]))
        return self._column(self._add("Cast", found, to=self._onnx.TensorProto.DOUBLE))

    # Outputs.

    def _unless_refused(self, result: str, name: str) -> None:
        """Write an output: NaN for rows with a cell that is refused."""
        bad = self._constant([False], np.bool_)
        for each in self._refused:
            bad = self._add("Or", bad, each)
        shown = self._column(bad) if name == PROBABILITIES else bad
        self._add("Where", shown, self._constant(np.nan), result, name=name)

    def write_number(self, scores: str) -> None:
        """Write the expected number."""
        eta = self._add("Squeeze", scores, self._whole([1]))
        if self._document["link"] == "log":
            eta = self._add("Exp", self._add("Min", eta, self._constant(LARGEST_EXPONENT)))
        self._unless_refused(eta, PREDICTION)

    def write_classes(self, scores: str) -> int:
        """Write probabilities and the most probable class, and return the type of classes."""
        document, types = self._document, self._onnx.TensorProto
        p = self._add("Softmax", self._add("Div", scores, self._constant(document["temperature"])), axis=1)
        classes, scored = document["classes"], document["scored_classes"]
        if scored != list(range(len(classes))):  # a class without rows has the probability 0
            nothing = self._add("Mul", self._add("Gather", p, self._whole([0]), axis=1), self._constant(0))
            places = [scored.index(place) if place in scored else len(scored) for place in range(len(classes))]
            p = self._add("Gather", self._add("Concat", p, nothing, axis=1), self._whole(places), axis=1)
        self._unless_refused(p, PROBABILITIES)
        names = np.array(classes)
        dtype, label_type = {"b": (np.bool_, types.BOOL), "i": (np.int64, types.INT64)}.get(
            names.dtype.kind, (np.object_, types.STRING)
        )
        self._add("Gather", self._constant(names, dtype), self._decide(p), name=LABEL)
        return int(label_type)

    def _decide(self, p: str) -> str:
        """Return the place of the predicted class: the most probable one, unless a class has a threshold."""
        decision, k = self._document["decision"], len(self._document["classes"])
        if decision is None:
            return self._add("ArgMax", p, axis=1, keepdims=0)
        positive = decision["positive"]
        own = self._add("Gather", p, self._whole(positive), axis=1)
        is_own = self._constant([[place == positive for place in range(k)]], np.bool_)
        others = self._add("ArgMax", self._add("Where", is_own, self._constant(-1), p), axis=1, keepdims=0)
        is_positive = self._add("GreaterOrEqual", own, self._constant(decision["threshold"]))
        return self._add("Where", is_positive, self._whole(positive), others)
