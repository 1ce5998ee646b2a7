"""What kernels made of kernels share: children with names, samples prepared once for each child."""

import inspect
from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import hstack, issparse
from sklearn.base import clone

from mercer.errors import DomainError
from mercer.kernels.base import Kernel
from mercer.kernels.samples import describe, n_samples, take

__all__ = [
    "Composite",
    "Numbered",
    "Parts",
    "Pointwise",
    "Seen",
    "Wrapped",
    "bracketed",
    "check_child",
    "one_part",
    "side_by_side",
]


class Parts:
    """Samples in several forms side by side, such as each child of a kernel wants them.

    Parameters
    ----------
    *parts
        Each has the same number of samples.
    """

    __slots__ = ("parts",)

    def __init__(self, *parts: Any):
        self.parts = parts

    @property
    def shape(self) -> tuple[int]:
        """Number of samples, as an array of samples would have it."""
        return (n_samples(self.parts[0]),)

    def __getitem__(self, rows: Any) -> "Parts":
        return Parts(*(take(part, rows) for part in self.parts))


def one_part(X: Any, i: int) -> Any:
    """The samples for child number i: its own part of prepared samples, else the samples as they were given."""
    return X.parts[i] if isinstance(X, Parts) else X


def bracketed(kernel: Kernel) -> str:
    """An expression that can stand as a term, factor or base."""
    return f"({kernel!r})" if hasattr(kernel, "symbol") else repr(kernel)


def side_by_side(blocks: list[Any]) -> Any:
    """Feature vectors next to each other, as CSR if one of the blocks is sparse."""
    return hstack(blocks, format="csr") if any(map(issparse, blocks)) else np.hstack(blocks)


def check_child(owner: str, kernel: Any) -> None:
    """Refuse what is no kernel."""
    if not isinstance(kernel, Kernel):
        raise TypeError(f"{owner} needs a kernel, got {kernel!r}; as_kernel turns names into kernels.")


class Composite(Kernel):
    """Kernels as children, named by their position: parameter ``"0__gamma"`` is gamma of the first."""

    symbol: ClassVar[str]

    def __init__(self, *kernels):
        self.kernels = kernels
        self._check_children()

    def _check_children(self):
        name = type(self).__name__
        if not self.kernels:
            raise ValueError(f"{name} needs at least one kernel.")
        for kernel in self.kernels:
            check_child(name, kernel)
        by_domain = {kernel.domain: kernel for kernel in self.kernels if kernel.domain != "any"}
        if len(by_domain) > 1:
            sides = " and ".join(f"{type(k).__name__} on {domain}" for domain, k in by_domain.items())
            raise DomainError(f"{name} needs kernels on one kind of samples, got {sides}.")

    @property
    def domain(self) -> str:  # type: ignore[override]
        domains = [kernel.domain for kernel in self.kernels]
        return next((domain for domain in domains if domain != "any"), "any")

    @property
    def definite(self) -> bool | None:  # type: ignore[override]
        known = [kernel.definite for kernel in self.kernels]
        return False if False in known else None if None in known else True

    def resolve(self, X, sample_weight=None):
        return type(self)(*(kernel.resolve(X, sample_weight) for kernel in self.kernels))

    def prepare(self, X, Y=None):
        if Y is None or Y is X:
            both = Parts(*(kernel.prepare(one_part(X, i))[0] for i, kernel in enumerate(self.kernels)))
            return both, both
        pairs = [kernel.prepare(one_part(X, i), one_part(Y, i)) for i, kernel in enumerate(self.kernels)]
        return Parts(*(x for x, _ in pairs)), Parts(*(y for _, y in pairs))

    def _each(self, *samples: Parts) -> list[tuple[Any, ...]]:
        """Every child with its own form of prepared samples."""
        return list(zip(self.kernels, *(part.parts for part in samples), strict=True))

    def _logarithms(self, *samples: Parts) -> list[np.ndarray] | None:
        """Logarithms of every child's matrix, or diagonal where there are samples on one side alone.

        None unless a child has logarithms of its own and the others, by being infinitely divisible, are never negative.
        """
        has = [kernel._log_diag(take(x, slice(0, 0))) is not None for kernel, x in self._each(samples[0])]
        if not any(has) or not all(own or k.infinitely_divisible for own, k in zip(has, self.kernels, strict=True)):
            return None
        logs = []
        for own, (kernel, *each) in zip(has, self._each(*samples), strict=True):
            if len(samples) == 1:
                logs.append(kernel._log_diag(*each) if own else _logarithm(kernel._diag(*each)))
            else:
                logs.append(kernel._log_matrix(*each) if own else _logarithm(kernel._matrix(*each)))
        return logs

    def _by_position(self, parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
        """Derivatives of all children, by the names that their parameters have here."""
        return {f"{i}__{name}": value for i, part in enumerate(parts) for name, value in part.items()}

    def _check_parameters(self):
        for kernel in self.kernels:
            kernel._check_parameters()

    def _unresolved(self):
        return [f"{i}__{name}" for i, kernel in enumerate(self.kernels) for name in kernel._unresolved()]

    # scikit-learn reads parameters off the signature; ours are the children.

    def get_params(self, deep=True):
        """Children by position and, if `deep`, their parameters.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the parameters of the children, as ``"0__gamma"``.

        Returns
        -------
        dict
        """
        params: dict[str, Any] = {str(i): kernel for i, kernel in enumerate(self.kernels)}
        if deep:
            for i, kernel in enumerate(self.kernels):
                params.update({f"{i}__{name}": value for name, value in kernel.get_params().items()})
        return params

    def set_params(self, **params):
        """Replace children (``"0"``) or set their parameters (``"0__gamma"``).

        Parameters
        ----------
        **params : dict
            As a dictionary, ``set_params(**{"0__gamma": 2.0})``, since names cannot start with a digit.

        Returns
        -------
        Kernel
            This kernel.
        """
        children = list(self.kernels)
        nested: dict[int, dict[str, Any]] = {}
        for name, value in params.items():
            position, _, rest = name.partition("__")
            if not (position.isdecimal() and int(position) < len(children)):
                valid = ", ".join(map(str, range(len(children))))
                raise ValueError(f"Invalid parameter {name!r} for {self!r}; its children are named {valid}.")
            if rest:
                nested.setdefault(int(position), {})[rest] = value
            else:
                children[int(position)] = value
        replaced = type(self)(*children)
        for position, values in nested.items():
            children[position].set_params(**values)
        self.kernels = replaced.kernels
        return self

    def __sklearn_clone__(self):
        return type(self)(*(clone(kernel) for kernel in self.kernels))

    def __repr__(self, N_CHAR_MAX=700):
        return self.symbol.join(map(bracketed, self.kernels))


class Wrapped(Kernel):
    """One kernel inside another, its parameter `kernel`.

    Samples, domain, definiteness and words that wait for the data are those of the kernel inside, unless a subclass
    says otherwise.
    """

    kernel: Any

    _child: ClassVar[str] = "kernel"  # the parameter that holds it
    _holds: ClassVar[tuple[str, ...]] = ()  # parameters that hold data: clones share them

    @property
    def domain(self) -> str:  # type: ignore[override]
        check_child(type(self).__name__, self.kernel)
        return self.kernel.domain

    @property
    def definite(self) -> bool | None:  # type: ignore[override]
        return self.kernel.definite

    def resolve(self, X, sample_weight=None):
        self._check_parameters()
        return self._with(**{self._child: self.kernel.resolve(self._seen(X, "X"), sample_weight)})

    def prepare(self, X, Y=None):
        return self.kernel.prepare(X, Y)

    def _seen(self, X: Any, name: str) -> Any:
        """The samples as the kernel inside sees them."""
        return X

    def _with(self, **changed: Any) -> "Wrapped":
        """A copy in which some parameters are others."""
        params = self.get_params(deep=False)
        for name, value in params.items():
            if name not in changed:
                changed[name] = value if name in self._holds else clone(value, safe=False)
        return type(self)(**changed)

    def __sklearn_clone__(self):
        return self._with()

    def _check_parameters(self):
        check_child(type(self).__name__, self.kernel)
        super()._check_parameters()
        self.kernel._check_parameters()

    def _unresolved(self):
        return [*super()._unresolved(), *(f"{self._child}__{name}" for name in self.kernel._unresolved())]

    def _vjp_inside(self, X: Any, V: np.ndarray) -> dict[str, Any]:
        """Derivatives by the parameters of the kernel inside, for the weights V of its values."""
        return self._named(self.kernel._vjp(X, V))

    def _named(self, derivatives: dict[str, Any]) -> dict[str, Any]:
        """Derivatives of the kernel inside, by the names that its parameters have here."""
        return {f"{self._child}__{name}": value for name, value in derivatives.items()}

    def __repr__(self, N_CHAR_MAX=700):
        default = {name: p.default for name, p in inspect.signature(type(self)).parameters.items()}
        params = self.get_params(deep=False)
        told = []
        for name in default:
            if not _same(params[name], default[name]):
                data = name in self._holds and hasattr(params[name], "__len__") and not isinstance(params[name], str)
                told.append(f"{name}={f'<{describe(params[name])}>' if data else repr(params[name])}")
        return f"{type(self).__name__}({', '.join(told)})"


class Seen(Wrapped):
    """A kernel that sees something else than the sample itself, such as a part of it: ``_seen`` says what."""

    def prepare(self, X, Y=None):
        if Y is None or Y is X:
            both = Parts(self.kernel.prepare(self._seen_or_ready(X, "X"))[0])
            return both, both
        X, Y = self.kernel.prepare(self._seen_or_ready(X, "X"), self._seen_or_ready(Y, "Y"))
        return Parts(X), Parts(Y)

    def _seen_or_ready(self, X: Any, name: str) -> Any:
        return X.parts[0] if isinstance(X, Parts) else self._seen(X, name)

    @property
    def infinitely_divisible(self) -> bool:  # type: ignore[override]
        return self.kernel.infinitely_divisible

    def _matrix(self, X, Y):
        return self.kernel._matrix(X.parts[0], Y.parts[0])

    def _diag(self, X):
        return self.kernel._diag(X.parts[0])

    def _dot(self, X, Y, V):
        return self.kernel._dot(X.parts[0], Y.parts[0], V)

    def _dot_rows(self, X, Y, rows):
        return self.kernel._dot_rows(X.parts[0], Y.parts[0], rows)

    def _vjp(self, X, W):
        return self._vjp_inside(X.parts[0], W)

    def _log_matrix(self, X, Y):
        return self.kernel._log_matrix(X.parts[0], Y.parts[0])

    def _log_diag(self, X):
        return self.kernel._log_diag(X.parts[0])

    def _log_vjp(self, X, W):
        return self._named(self.kernel._log_vjp(X.parts[0], W))

    def _sparse_features(self, X):
        return self.kernel._sparse_features(X.parts[0])

    def features(self, X):
        """Explicit feature vectors, of kernels inside that have them.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray or CSR array of shape (n, n_components)
        """
        kernel = self._ready(X)
        return kernel.kernel.features(kernel._seen(X, "X"))


class Numbered(Wrapped):
    """A kernel computed from another one and a number for every sample, such as its norm.

    Prepared samples are those of the kernel inside with the numbers, which are computed once.
    """

    def prepare(self, X, Y=None):
        if Y is None or Y is X:
            both = self._numbered(X, self.kernel.prepare(one_part(X, 0))[0])
            return both, both
        inside = self.kernel.prepare(one_part(X, 0), one_part(Y, 0))
        return self._numbered(X, inside[0]), self._numbered(Y, inside[1])

    def _numbered(self, X: Any, inside: Any) -> Parts:
        return Parts(inside, self._numbers(X, inside))

    def _numbers(self, X: Any, inside: Any) -> np.ndarray:
        """The numbers of samples, as they were given and as the kernel inside has prepared them: their diagonal."""
        return self.kernel._diag(inside)


class Pointwise(Wrapped):
    """A function of the values of a kernel, k(x, x') = f(k0(x, x')).

    A subclass gives f in ``_of`` and its derivative in ``_slope``.
    """

    @abstractmethod
    def _of(self, K: np.ndarray) -> np.ndarray:
        """f, entry by entry."""

    @abstractmethod
    def _slope(self, K: np.ndarray) -> np.ndarray:
        """The derivative of f, entry by entry."""

    def _matrix(self, X, Y):
        return self._of(self.kernel._matrix(X, Y))

    def _diag(self, X):
        return self._of(self.kernel._diag(X))

    def _vjp(self, X, W):
        return self._vjp_inside(X, W * self._slope(self.kernel._matrix(X, X)))


def _same(a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and not isinstance(a, np.ndarray) and bool(a == b))


def _logarithm(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):  # log 0 is -inf
        return np.log(values)
