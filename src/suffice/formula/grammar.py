"""The grammar of formulas, by formulaic's parser: a target, terms that are products of factors, an intercept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from suffice.errors import MissingExtraError
from suffice.formula.errors import FormulaError
from suffice.formula.expressions import QUOTED, Call, Column, Expression, parse_expression

#: Most terms and characters of a formula.
MOST_TERMS = 2000
LONGEST = 100_000


@dataclass(frozen=True)
class Formula:
    """A formula: the target, and the terms of the linear predictor in order."""

    text: str
    target: Expression
    terms: tuple[tuple[Expression, ...], ...]  # each a product of factors, those with fewer factors first
    intercept: bool
    offsets: tuple[Expression, ...]  # known parts of the predictor


def parse_formula(text: str, columns: Sequence[str] = ()) -> Formula:
    """Return the parts of a formula.

    Parameters
    ----------
    text
        As in R: ``y ~ a + b``, ``a:b`` (interaction), ``a * b`` (both and their interaction), ``a / b``
        (b within a), ``(a + b + c)**2`` (all pairs), ``- 1`` (no intercept), ``.`` (all other columns).
    columns
        The columns of the table, for ``.``.

    Examples
    --------
    >>> formula = parse_formula("low ~ age + C(race) * smoke + offset(log(days)) - 1")
    >>> [":".join(map(str, term)) for term in formula.terms]
    ['age', 'C(race)', 'smoke', 'C(race):smoke']
    >>> formula.intercept, str(formula.offsets[0])
    (False, 'log(days)')
    """
    if not isinstance(text, str):
        raise FormulaError(f"formula must be a text such as 'y ~ a + b'; got {text!r}")
    if len(text) > LONGEST:
        raise FormulaError(f"formula has {len(text):,} characters; the most is {LONGEST:,}")
    strange = [each for each in re.findall("%[^%]*%", QUOTED.sub("", text)) if each != "%in%"]
    if strange:
        raise FormulaError(f"formula {text!r} has the operator {strange[0]}; the operators are + - : * / ** and %in%")
    found = _parsed(text, columns)
    left = [_factors(term, text) for term in getattr(found, "lhs", ())]
    if len(left) != 1 or len(left[0]) != 1:
        raise FormulaError(f"formula must name one target before ~, as in 'y ~ a + b'; got {text!r}")
    terms: list[tuple[Expression, ...]] = []
    offsets: list[Expression] = []
    intercept = False
    for term in found.rhs:
        factors = _factors(term, text)
        if not factors:
            intercept = True
            continue
        known = [each for each in factors if isinstance(each, Call) and each.function == "offset"]
        if known and len(factors) > 1:
            raise FormulaError(
                f"formula: {known[0]} cannot be in an interaction, as it has no coefficient: add it with +"
            )
        if known:
            offsets.append(known[0].x)
        elif factors not in terms:
            terms.append(factors)
    target = left[0][0]
    if any(target in factors for factors in terms):
        raise FormulaError(f"formula: the target {target} is also a term: remove it from the right of ~")
    return Formula(text, target, tuple(sorted(terms, key=len)), intercept, tuple(offsets))


def _factors(term: Any, text: str) -> tuple[Expression, ...]:
    """Return the factors of a term; none for the intercept."""
    found: dict[Expression, None] = {}
    for factor in term.factors:
        if factor.eval_method.value == "literal":
            if factor.expr != "1":
                raise FormulaError(f"formula: {factor.expr} in {text!r} multiplies a term: write I({factor.expr} * x)")
        elif factor.eval_method.value == "lookup":
            found[Column(factor.expr)] = None
        else:
            found[parse_expression(factor.expr)] = None
    return tuple(found)


def _parsed(text: str, columns: Sequence[str]) -> Any:
    parser = _parser()
    try:
        return parser.get_terms(text, context={"__formulaic_variables_available__": list(columns)})
    except FormulaError:
        raise
    except Exception as error:  # the parser, and Python's own within it, raise errors of many types
        reason = error.msg if isinstance(error, SyntaxError) else str(error) or type(error).__name__
        raise FormulaError(f"formula {text!r} cannot be read: {reason.splitlines()[0].rstrip('.')}") from None


@cache
def _parser() -> Any:
    """Return formulaic's parser, with a limit on the number of terms."""
    try:
        from formulaic.parser import DefaultFormulaParser, DefaultOperatorResolver
        from formulaic.parser.types import Operator, OrderedSet
    except ImportError:
        raise MissingExtraError("formulas need formulaic: pip install 'suffice[formula]'") from None

    def check(count: int) -> None:
        if count > MOST_TERMS:
            raise FormulaError(f"formula has {count:,} terms or more; the most is {MOST_TERMS:,}")

    def limited(to_terms: Any) -> Any:
        def terms(*sets: Any) -> Any:
            count = 1
            for each in sets:
                count *= max(len(each), 1)
            check(count)
            return to_terms(*sets)

        return terms

    def power(terms: Any, exponent: Any) -> Any:
        text = "".join(factor.expr for term in exponent for factor in term.factors)
        if len(exponent) != 1 or not text.isdigit() or int(text[:9]) < 1:
            raise FormulaError(f"formula: the exponent of (a + b)**2 must be a whole number above 0; got {text!r}")
        found = terms
        for _ in range(min(int(text[:9]), MOST_TERMS) - 1):
            check(len(found) * len(terms))
            more = OrderedSet(one * two for one in found for two in terms)
            if set(more) == set(found):  # a term has each factor once: nothing is added beyond this
                break
            found = more
        return found

    def replaced(operator: Any) -> Any:
        if operator.symbol not in ("**", "^", "*", "/", ":", "in"):
            return operator
        return Operator(
            operator.symbol,
            arity=operator.arity,
            precedence=operator.precedence,
            associativity=operator.associativity,
            fixity=operator.fixity,
            to_terms=power if operator.symbol in ("**", "^") else limited(operator.to_terms),
        )

    class LimitedResolver(DefaultOperatorResolver):  # type: ignore[misc]
        @property
        def operators(self) -> list[Any]:
            return [replaced(operator) for operator in super().operators]

    return DefaultFormulaParser(operator_resolver=LimitedResolver(), feature_flags={"twosided"})
