"""Expressions of a formula, such as ``log(income + 1)``: parsed to a tree of listed functions, never executed.

Python's ``ast`` module parses the text. Only columns, numbers, texts, lists, arithmetic and calls of the functions in
``FUNCTIONS`` are accepted; ``a.b`` is the name of a column, not an attribute.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass

from suffice.formula.errors import FormulaError
from suffice.tables.errors import nearest

#: The functions that a formula may call, each with the names of its arguments.
FUNCTIONS: dict[str, tuple[str, ...]] = {
    "log": ("x",),
    "exp": ("x",),
    "sqrt": ("x",),
    "I": ("x",),
    "offset": ("x",),
    "center": ("x",),
    "scale": ("x", "center", "scale"),
    "poly": ("x", "degree", "raw"),
    "bs": ("x", "df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound"),
    "cr": ("x", "df", "knots", "lower_bound", "upper_bound", "constraints"),
    "C": ("x", "contrast", "levels"),
    "Treatment": ("reference",),
    "Sum": ("omit",),
}
#: Aliases of functions, as in R and formulaic.
SYNONYMS = {"contr.treatment": "Treatment", "contr.sum": "Sum", "np.log": "log", "np.exp": "exp", "np.sqrt": "sqrt"}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
}
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4}
#: Most levels of an expression.
_DEEPEST = 50
#: A text in quotes, or the name of a column in backticks, which is the group.
QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|`([^`]*)`")


@dataclass(frozen=True)
class Column:
    """The cells of a column."""

    name: str

    def __str__(self) -> str:
        plain = all(part.isidentifier() and not keyword.iskeyword(part) for part in self.name.split("."))
        return self.name if plain else f"`{self.name}`"


@dataclass(frozen=True)
class Constant:
    """A number, a text, True, False or None; or a list of numbers or of texts."""

    value: float | int | str | bool | tuple[float | int | str | bool | None, ...] | None

    def __str__(self) -> str:
        return f"[{', '.join(map(repr, self.value))}]" if isinstance(self.value, tuple) else repr(self.value)


@dataclass(frozen=True)
class Arithmetic:
    """Two expressions joined by one of + - * / **."""

    operator: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        left, right = (_in_brackets(self, side) for side in (self.left, self.right))
        return f"{left} {self.operator} {right}"


@dataclass(frozen=True)
class Negative:
    """Minus an expression."""

    inner: Expression

    def __str__(self) -> str:
        return f"-({self.inner})" if isinstance(self.inner, Arithmetic) else f"-{self.inner}"


@dataclass(frozen=True)
class Call:
    """A listed function and its arguments by name, without those that were not given."""

    function: str
    arguments: tuple[tuple[str, Expression], ...]

    def __str__(self) -> str:
        known = FUNCTIONS[self.function]
        texts = []
        for place, (name, value) in enumerate(self.arguments):
            texts.append(str(value) if known[place] == name else f"{name}={value}")
        return f"{self.function}({', '.join(texts)})"

    @property
    def x(self) -> Expression:
        """Its first argument."""
        return dict(self.arguments)["x"]


Expression = Column | Constant | Arithmetic | Negative | Call


def parse_expression(text: str) -> Expression:
    """Return the tree of an expression.

    Examples
    --------
    >>> str(parse_expression("log(income+1)")), parse_expression("`my column`")
    ('log(income + 1)', Column(name='my column'))
    >>> parse_expression("__import__('os')")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    suffice.formula.errors.FormulaError: formula: '__import__' is not a function of formulas; these are log, exp, ...
    """
    quoted: dict[str, str] = {}

    def name_for(found: re.Match[str]) -> str:
        if found.group(1) is None:
            return found.group()
        alias = f"_quoted_{len(quoted)}_"
        while alias in text:
            alias += "_"
        quoted[alias] = found.group(1)
        return alias

    plain = QUOTED.sub(name_for, text)
    try:
        tree = ast.parse(plain.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else type(error).__name__
        raise FormulaError(f"formula: {_short(text)} cannot be read ({reason})") from None
    return _Reader(text, quoted).read(tree, 0)


@dataclass(frozen=True)
class _Reader:
    """Converts nodes of Python's grammar to expressions; other nodes raise."""

    text: str
    quoted: dict[str, str]

    def read(self, node: ast.expr, depth: int) -> Expression:
        if depth > _DEEPEST:
            raise FormulaError(f"formula: {_short(self.text)} has more than {_DEEPEST} brackets within brackets")
        name = self._dotted(node)
        if name is not None:
            return Column(name)
        if isinstance(node, ast.Constant):
            return Constant(self._constant(node))
        if isinstance(node, ast.List | ast.Tuple):
            items = [self.read(each, depth + 1) for each in node.elts]
            values = [_plain(each) for each in items]
            if any(isinstance(each, tuple) for each in values):
                raise self._refusal(node, "a list of lists")
            return Constant(tuple(each for each in values if not isinstance(each, tuple)))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            inner = self.read(node.operand, depth + 1)
            if isinstance(node.op, ast.UAdd):
                return inner
            if isinstance(inner, Constant) and isinstance(inner.value, int | float):
                return Constant(-inner.value)
            return Negative(inner)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = self.read(node.left, depth + 1), self.read(node.right, depth + 1)
            return Arithmetic(_OPERATORS[type(node.op)], left, right)
        if isinstance(node, ast.Call):
            return self._call(node, depth)
        raise self._refusal(node, type(node).__name__)

    def _dotted(self, node: ast.expr) -> str | None:
        """Return the name of a column, which may have points in it; None for anything else."""
        if isinstance(node, ast.Name):
            return self.quoted.get(node.id, node.id)
        if isinstance(node, ast.Attribute):
            before = self._dotted(node.value)
            return None if before is None else f"{before}.{node.attr}"
        return None

    def _constant(self, node: ast.Constant) -> float | int | str | bool | None:
        value = node.value
        if value is None or isinstance(value, str | bool | float):
            return value
        if isinstance(value, int):
            if abs(value) > 2**53:
                raise FormulaError("formula: a whole number of more than 15 digits is not exact; write it as 1e20")
            return value
        raise self._refusal(node, type(value).__name__)

    def _call(self, node: ast.Call, depth: int) -> Call:
        name = self._dotted(node.func)
        if name is None:
            raise self._refusal(node, "a call")
        name = SYNONYMS.get(name, name)
        if name not in FUNCTIONS:
            known = ", ".join(FUNCTIONS)
            raise FormulaError(
                f"formula: {name!r} is not a function of formulas; these are {known}{nearest(name, FUNCTIONS)}"
            )
        names = FUNCTIONS[name]
        if len(node.args) > len(names):
            raise FormulaError(f"formula: {name} takes {', '.join(names)}; {_short(self.text)} has {len(node.args)}")
        given: dict[str, Expression] = {}
        pairs: list[tuple[str | None, ast.expr]] = list(zip(names, node.args, strict=False))
        pairs += [(each.arg, each.value) for each in node.keywords]
        for argument, value in pairs:
            if argument not in names:
                raise FormulaError(
                    f"formula: {name} takes {', '.join(names)}; it has no argument {argument!r}"
                    f"{nearest(argument or '', names)}"
                )
            if argument in given:
                raise FormulaError(f"formula: {name} is given {argument!r} twice in {_short(self.text)}")
            found = self.read(value, depth + 1)
            if isinstance(found, Column) and argument == "contrast":  # C(race, Sum)
                contrast = SYNONYMS.get(found.name, found.name)
                found = Call(contrast, ()) if contrast in ("Treatment", "Sum") else found
            given[argument] = found
        if names[0] == "x" and "x" not in given:
            raise FormulaError(f"formula: {name}() needs a column")
        return Call(name, tuple((each, given[each]) for each in names if each in given))

    def _refusal(self, node: ast.AST, what: str) -> FormulaError:
        return FormulaError(
            f"formula: {_short(self.text)} has {_WORDS.get(what, what)}; a formula has columns, numbers, texts, "
            f"+ - * / ** and the functions {', '.join(FUNCTIONS)}"
        )


_WORDS = {
    "Lambda": "a lambda",
    "ListComp": "a comprehension",
    "GeneratorExp": "a comprehension",
    "SetComp": "a comprehension",
    "DictComp": "a comprehension",
    "Subscript": "square brackets",
    "Attribute": "an attribute",
    "Compare": "a comparison",
    "BoolOp": "and/or",
    "NamedExpr": "an assignment",
    "IfExp": "a condition",
    "JoinedStr": "an f-string",
}


def _plain(expression: Expression) -> float | int | str | bool | tuple[float | int | str | bool | None, ...] | None:
    if not isinstance(expression, Constant):
        raise FormulaError(f"formula: a list holds numbers or texts, not {expression}")
    return expression.value


def _in_brackets(outer: Arithmetic, inner: Expression) -> str:
    """Return the text of a side of an arithmetic expression, in brackets if needed."""
    if isinstance(inner, Arithmetic):
        mine, its = _PRECEDENCE[outer.operator], _PRECEDENCE[inner.operator]
        same_side = inner is outer.right if outer.operator in ("-", "/") else inner is outer.left
        return f"({inner})" if its < mine or (its == mine and (same_side or outer.operator == "**")) else str(inner)
    negative = isinstance(inner, Negative) or (
        isinstance(inner, Constant) and isinstance(inner.value, int | float) and inner.value < 0
    )
    return f"({inner})" if negative and (inner is outer.right or outer.operator == "**") else str(inner)


def columns_of(expression: Expression) -> Iterator[str]:
    """Yield the columns that an expression reads, with repetitions.

    Examples
    --------
    >>> list(columns_of(parse_expression("log(a) / (b + 1)")))
    ['a', 'b']
    """
    if isinstance(expression, Column):
        yield expression.name
    elif isinstance(expression, Arithmetic):
        yield from columns_of(expression.left)
        yield from columns_of(expression.right)
    elif isinstance(expression, Negative):
        yield from columns_of(expression.inner)
    elif isinstance(expression, Call):
        for _, value in expression.arguments:
            yield from columns_of(value)


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")
