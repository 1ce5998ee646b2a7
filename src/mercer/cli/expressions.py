"""Kernels, numbers and lists as they are written in Python, read without running Python."""

import ast
import difflib
import inspect
from typing import Any

from mercer import kernels
from mercer.cli.outcomes import USAGE, CommandError
from mercer.kernels import ALIASES, Kernel

__all__ = ["parse_kernel", "parse_value"]

# Kernels that hold functions, matrices or files, which text cannot give them.
NOT_IN_TEXT = {
    "Kernel",
    "NativeSpec",
    "FromFunction",
    "Indexed",
    "Mapped",
    "Cached",
    "Scaled",
    "Fisher",
    "MarginalizedCount",
    "as_kernel",
}
KNOWN: dict[str, Any] = {
    name: getattr(kernels, name)
    for name in kernels.__all__
    if name not in NOT_IN_TEXT and getattr(getattr(kernels, name), "domain", "") not in ("indices", "nodes")
}
# Methods of kernels that give kernels.
METHODS = ("centered", "exp", "from_sigma", "geometric", "normalized", "polynomial", "rbf", "sqrt")
LONGEST = 2000


def parse_kernel(text: str) -> Kernel:
    """A kernel from a name, "rbf", or from an expression of kernels, "RBF(gamma=0.1) + 0.1 * Linear()".

    The text is read as Python's syntax and never run: it may call kernels of `mercer.kernels` and their methods that
    give kernels, and combine them with numbers, +, * and **.

    Parameters
    ----------
    text : str

    Returns
    -------
    Kernel

    Examples
    --------
    >>> from mercer.cli.expressions import parse_kernel
    >>> parse_kernel("RBF(gamma=0.1) + 0.1*Linear()")
    RBF(gamma=0.1) + (Constant(value=0.1) * Linear())
    >>> parse_kernel("rfb")
    Traceback (most recent call last):
    ...
    mercer.cli.outcomes.CommandError: There is no kernel 'rfb'; did you mean 'rbf' or 'RBF'?
    """
    text = text.strip()
    if text in ALIASES:
        return ALIASES[text]()
    try:
        value = _Reader(text).read(_parsed(text, "kernel").body)
    except CommandError:
        raise
    except (TypeError, ValueError, ArithmeticError) as error:
        raise CommandError(f"The kernel {text!r} cannot be made: {error}", USAGE) from error
    if isinstance(value, type):
        value = value()
    if not isinstance(value, Kernel):
        raise CommandError(f"{text!r} is no kernel.", USAGE)
    return value


def parse_value(text: str) -> Any:
    """A number, a list, True, None, ... as Python writes it; any other text as it is.

    >>> from mercer.cli.expressions import parse_value
    >>> parse_value("1e-3"), parse_value("balanced"), parse_value("inf"), parse_value("[1, 2]")
    (0.001, 'balanced', inf, [1, 2])
    """
    if text in ("inf", "-inf"):
        return float(text)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _parsed(text: str, what: str) -> ast.Expression:
    if len(text) > LONGEST:
        raise CommandError(f"The {what} has {len(text)} letters, more than {LONGEST}.", USAGE)
    try:
        return ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        place = f" at letter {error.offset}" if isinstance(error, SyntaxError) and error.offset else ""
        raise CommandError(f"The {what} {text!r} cannot be read{place}; write it as in Python.", USAGE) from None


class _Reader:
    """Reads a syntax tree in which nothing but kernels and values is allowed."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read(self, node: ast.AST) -> Any:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None):
                return node.value
            case ast.List() | ast.Tuple():
                return [self.read(item) for item in node.elts]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.number(operand)
            case ast.BinOp(op=ast.Add()):
                return self.read(node.left) + self.read(node.right)
            case ast.BinOp(op=ast.Mult()):
                return self.kernel_or_number(node.left) * self.kernel_or_number(node.right)
            case ast.BinOp(op=ast.Pow()):
                return self.kernel(node.left) ** self.number(node.right)
            case ast.BinOp(op=ast.Div()):
                return self.number(node.left) / self.number(node.right)
            case ast.Name(id=name):
                return self.known(name)
            case ast.Call(func=function):
                arguments = [self.read(argument) for argument in node.args]
                named = {keyword.arg or "": self.read(keyword.value) for keyword in node.keywords}
                if "" in named:
                    raise self.refused(node)
                callee = self.callee(function)
                self.check_names(callee, named)
                return callee(*arguments, **named)
        raise self.refused(node)

    def callee(self, node: ast.AST) -> Any:
        match node:
            case ast.Name(id=name):
                return self.known(name)
            case ast.Attribute(value=owner, attr=method) if method in METHODS:
                value = self.read(owner)
                if isinstance(value, Kernel) or (isinstance(value, type) and hasattr(value, method)):
                    return getattr(value, method)
        raise self.refused(node)

    def check_names(self, callee: Any, named: dict[str, Any]) -> None:
        names = list(inspect.signature(callee).parameters)
        for name in named:
            if name not in names:
                has = f"it has {', '.join(names)}." if names else "it has none."
                raise CommandError(f"{callee.__name__} has no parameter {name!r}; {has}", USAGE)

    def known(self, name: str) -> Any:
        if name in KNOWN:
            return KNOWN[name]
        if name == "inf":
            return float("inf")
        near = difflib.get_close_matches(name, [*KNOWN, *ALIASES], n=3, cutoff=0.6)
        near += [known for known in KNOWN if known.lower() == name.lower() and known not in near]
        near += [known for known in KNOWN for alias in near[:1] if known.lower() == alias and known not in near]
        hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else "; `mercer kernels` lists them."
        raise CommandError(f"There is no kernel {name!r}{hint}", USAGE)

    def kernel(self, node: ast.AST) -> Kernel:
        value = self.read(node)
        if not isinstance(value, Kernel):
            raise self.refused(node)
        return value

    def number(self, node: ast.AST) -> float:
        value = self.read(node)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refused(node)
        return value

    def kernel_or_number(self, node: ast.AST) -> Any:
        value = self.read(node)
        if isinstance(value, Kernel):
            return value
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refused(node)
        return value

    def refused(self, node: ast.AST) -> CommandError:
        part = ast.get_source_segment(self.text, node) or self.text
        return CommandError(
            f"{part!r} is nothing that a kernel is made of; write it as RBF(gamma=0.1) + Linear().", USAGE
        )
