"""A query as a tree, and the one text that every way of writing it has: the service's canonical form."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Mapping, Sequence, Union

from ._instants import format_duration

# Loosest first.
OR, AND, COMPARISON, SUM, PRODUCT, TIGHTEST = range(1, 7)
_BINDING = {"or": OR, "and": AND, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT}


@dataclass(frozen=True)
class Leaf:
    """A number, duration, status, band or name, as it is printed."""

    text: str


@dataclass(frozen=True)
class Call:
    """`timed`: it reads periods, so its contents inherit its timeframe."""

    name: str
    args: tuple[Node, ...]
    timeframe: str | None = None
    timed: bool = False


@dataclass(frozen=True)
class Binary:
    op: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Compare:
    op: str
    left: Node
    right: Node


@dataclass(frozen=True)
class In:
    left: Node
    values: tuple[Leaf, ...]


@dataclass(frozen=True)
class Logic:
    op: str
    args: tuple[Node, ...]


@dataclass(frozen=True)
class Over:
    """A quantifier or an aggregate over venues."""

    name: str
    where: Node | None
    expr: Node | None


Node = Union[Leaf, Call, Binary, Compare, In, Logic, Over]


def print_node(node: Node, inherited: str | None) -> str:
    """`inherited` is the timeframe that a call would be read at without one of its own: that one is not printed."""
    match node:
        case Leaf(text):
            return text
        case Call():
            return _print_call(node, inherited)
        case Binary(op, left, right):
            own = _BINDING[op]
            return f"{_within(left, own, inherited)} {op} {_within(right, own + 1, inherited)}"
        case Compare(op, left, right):
            return f"{_within(left, SUM, inherited)} {op} {_within(right, SUM, inherited)}"
        case In(left, values):
            return f"{_within(left, SUM, inherited)} in ({', '.join(value.text for value in values)})"
        case Logic(op, args):
            return f" {op} ".join(_within(arg, _BINDING[op] + 1, inherited) for arg in args)
        case Over():
            return _print_over(node, inherited)


def _print_call(node: Call, inherited: str | None) -> str:
    inside = (node.timeframe or inherited) if node.timed else inherited
    parts = [print_node(arg, inside) for arg in node.args]
    own = [] if node.timeframe is None or node.timeframe == inherited else [node.timeframe]
    return f"{node.name}({', '.join(parts + own)})"


def _print_over(node: Over, inherited: str | None) -> str:
    where = "" if node.where is None else f" where {print_node(node.where, inherited)}"
    expr = "" if node.expr is None else f", {print_node(node.expr, inherited)}"
    return f"{node.name}(venues{where}{expr})"


def _within(node: Node, least: int, inherited: str | None) -> str:
    """In parentheses when it binds looser than its place needs."""
    text = print_node(node, inherited)
    return f"({text})" if _binding_of(node) < least else text


def _binding_of(node: Node) -> int:
    if isinstance(node, (Binary, Logic)):
        return _BINDING[node.op]
    return COMPARISON if isinstance(node, (Compare, In)) else TIGHTEST


def logic(op: str, left: Node, right: Node) -> Logic:
    """`and` in `and` is one `and`."""
    args = [part for side in (left, right) for part in (side.args if isinstance(side, Logic) and side.op == op else (side,))]
    return Logic(op, tuple(args))


def is_in(left: Node, values: Sequence[Leaf]) -> Node:
    """Each value once; one value is an equality."""
    once = tuple(dict.fromkeys(values))
    if not once:
        raise ValueError("is_in needs a value")
    return Compare("=", left, once[0]) if len(once) == 1 else In(left, once)


# --- Literals ---

Number = Union[int, float, Decimal]
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?"
_SCALED = re.compile(rf"({_NUMBER})(bps|%)?")
_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]*[A-Z][A-Za-z0-9]*(?:-[A-Z0-9][A-Za-z0-9]*)*")


def print_number(value: Number) -> str:
    """Plain digits: a float as its shortest ones."""
    number = value if isinstance(value, Decimal) else Decimal(repr(value))
    if isinstance(value, bool) or not number.is_finite():
        raise ValueError(f"{value!r} is not a number of the language")
    text = f"{number:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def literal(value: Union[Number, str, timedelta]) -> Leaf:
    """A number, `3bps`, `0.01%`, or a duration such as `30s`."""
    if isinstance(value, timedelta):
        return Leaf(format_duration(value))
    if not isinstance(value, str):
        return Leaf(print_number(value))
    found = _SCALED.fullmatch(value)
    if found is None:
        return Leaf(format_duration(value))
    # Not `scaleb`: it rounds to the digits that the caller's decimals have.
    sign, digits, exponent = Decimal(found[1]).as_tuple()
    shift = {"bps": -4, "%": -2}.get(found[2] or "", 0)
    return Leaf(print_number(Decimal((sign, digits, int(exponent) + shift))))


def print_code(code: str) -> str:
    return code if _BARE.fullmatch(code) else json.dumps(code, ensure_ascii=False)


SELECTION_KEYS = ("instrument", "base", "venue", "quote", "symbol")


def print_selection(terms: Mapping[str, object]) -> str:
    """`base in (BTC, ETH) and quote = USDT`."""
    unknown = [name for name in terms if name not in SELECTION_KEYS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a name of a selection: use one of {', '.join(SELECTION_KEYS)}")
    return " and ".join(_print_term(key, terms[key]) for key in SELECTION_KEYS if terms.get(key) is not None)


def _print_term(key: str, given: object) -> str:
    codes = [given] if isinstance(given, str) else list(given)  # type: ignore[call-overload]
    texts = [json.dumps(code, ensure_ascii=False) if key == "symbol" else print_code(code) for code in dict.fromkeys(codes)]
    if not texts:
        raise ValueError(f"{key} names nothing")
    return f"{key} = {texts[0]}" if len(texts) == 1 else f"{key} in ({', '.join(texts)})"
