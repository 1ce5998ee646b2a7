"""Kernel values on a device, computed by PyTorch in tiles."""

from collections.abc import Iterator
from copy import copy
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from mercer.devices.arrays import OnDevice, Place, Tensor, from_device, full_precision
from mercer.errors import DomainError
from mercer.gram.blocks import with_gamma
from mercer.kernels.algebra import Constant, Exp, Geometric, Normalized, PolynomialOf, Power, Product, RBFOf, Sum
from mercer.kernels.algebra.base import Composite, Pointwise
from mercer.kernels.base import Kernel, NativeSpec
from mercer.kernels.samples import as_vectors, is_tensor, n_samples, row_blocks, to_numpy
from mercer.kernels.vectors.bandwidth import inverse

__all__ = ["DeviceKernel", "check_on_device", "resolved_on_device", "transformed"]

# So many entries of vectors are moved at once, whatever is free.
MOST_MOVED = 1 << 24
INSIDE_ONE = (Power, Exp, PolynomialOf, Geometric, Normalized, RBFOf)


class DeviceKernel:
    r"""Values of a kernel on vectors, on a device.

    Parameters
    ----------
    kernel : Kernel
        Resolved. One whose values are a function of a sum over the features (all kernels on vectors that the native
        loops compute), or sums, products, powers, exponentials, polynomials, geometric series of these, normalised or
        in a Gaussian. Others are refused by name.
    place : Place, or the name of a device
    dtype : {"float32", "float64"}, default="float64"
        Of values. Vectors may be in either.
    centre : array or tensor of shape (d,) or None, default=None
        Where kernels that do not feel a shift take their origin; None: the mean of the second samples, call by call.

    See Also
    --------
    mercer.gram.LandmarkMatrix : Products with kernel values, natively.

    Notes
    -----
    Squared distances come from one product of matrices,

    .. math:: \|x - z\|^2 = \|x\|^2 + \|z\|^2 - 2 x \cdot z,

    of vectors about the centre, which is taken off in the precision of the vectors: in float32 nothing else would be
    left of the differences of vectors far from the origin. Where a kernel takes the root of the distance, and so would
    make the root of their rounding, squares of differences are summed. TF32 is not used.

    Time O(n m d), memory O(n m): what needs tiles makes them.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.devices import DeviceKernel
    >>> from mercer.kernels import RBF
    >>> kernel = DeviceKernel(RBF(gamma=0.5), "cpu")
    >>> X = kernel.vectors(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]]))
    >>> kernel.values(X, X[:2]).numpy().round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ],
           [0.135, 0.082]])
    """

    def __init__(self, kernel: Kernel, place: Any, dtype: Any = "float64", centre: Any = None):
        check_on_device(kernel)
        self.kernel, self.place = kernel, place if isinstance(place, Place) else Place(place)
        self.dtype = self.place.dtype(dtype)
        self.centre = None if centre is None else self.place.tensor(centre)

    def vectors(self, X: Any) -> Tensor:
        """Samples on the device: checked as by the kernel, unless they are a tensor."""
        X = X.tensor if isinstance(X, OnDevice) else X
        if not is_tensor(X):
            return self.place.tensor(_plain(self.kernel, X))
        if X.ndim != 2 or not X.dtype.is_floating_point:
            raise DomainError(f"{type(self.kernel).__name__} works on vectors, got a tensor of shape {tuple(X.shape)}.")
        return self.place.tensor(X)

    def expansions(self, X: Any, Z: Any, rows: Any) -> np.ndarray:
        """K(X, Z) rows' for samples X, moved in parts, and coefficients of samples Z, one row for each function."""
        z, n = self.vectors(Z), n_samples(X)
        on, V = self.about(z), self.place.tensor(rows, self.dtype).T.contiguous()
        found = np.empty((n, V.shape[1]))
        for part in row_blocks(n, X.shape[1], MOST_MOVED):
            found[part] = to_numpy(on.dot(on.vectors(X[part]), z, V))
        return found

    def values(self, X: Tensor, Z: Tensor) -> Tensor:
        """k(x, z) of all pairs of vectors, shape (n, m)."""
        centre = _middle(Z) if self.centre is None else self.centre
        with full_precision(self.place.torch):
            return values(self.kernel, X, Z, Frame(self.place, self.dtype, centre))

    def dot(self, X: Tensor, Z: Tensor, V: Tensor) -> Tensor:
        """K(X, Z) V, shape (n, k), for V of shape (m, k); the matrix is never there as a whole."""
        on = self if self.centre is not None else self.about(Z)
        product = X.new_empty((len(X), V.shape[1]), dtype=self.dtype)
        with full_precision(self.place.torch):
            for rows in self.place.tiles(len(X), len(Z)):
                self.place.torch.mm(on.values(X[rows], Z), V, out=product[rows])
        return product

    def about(self, X: Tensor) -> "DeviceKernel":
        """The same kernel with the mean of some vectors as its centre."""
        other = copy(self)
        other.centre = _middle(X)
        return other

    def diag(self, X: Tensor) -> Tensor:
        """k(x, x) of all vectors, shape (n,)."""
        with full_precision(self.place.torch):
            return diagonal(self.kernel, X, Frame(self.place, self.dtype, None))


def of_tensors(kernel: Kernel, what: str, X: Tensor, Y: Any = None, V: Any = None) -> Tensor:
    """Values, diagonal or products ("dot") of a resolved kernel on tensors, on the device of the first."""
    on = DeviceKernel(kernel, X.device)
    x = on.vectors(X)
    z = x if Y is None else on.vectors(Y)
    if x.element_size() == z.element_size() == 4:
        on = DeviceKernel(kernel, X.device, "float32")
    if what == "diag":
        return on.diag(x)
    if x.shape[1] != z.shape[1]:
        raise ValueError(f"X has {x.shape[1]} features, Y has {z.shape[1]}; they need the same.")
    if what == "values":
        return on.values(x, z)
    V = on.place.tensor(V, on.dtype)
    x, z, V = x.detach(), z.detach(), V.detach()  # tiles of the matrix are not kept, as derivatives would need them
    return on.dot(x, z, V.reshape(len(V), -1)).reshape(-1, *V.shape[1:])


def resolved_on_device(kernel: Kernel, X: OnDevice, weight: np.ndarray) -> Kernel:
    """The kernel with the parameters that it takes from the samples.

    The variance that "scale" asks for is computed where they are; rules about pairs of samples get them in memory.
    """
    if with_gamma(kernel, "scale", 1.0) is not kernel:
        kernel = with_gamma(kernel, "scale", inverse(X.shape[1] * _variance(X.tensor, weight)))
    if any(isinstance(value, str) for value in kernel.get_params().values()):
        return kernel.resolve(from_device(X), weight)
    return kernel.resolve(from_device(X[:1]), np.ones(1))


def _variance(X: Tensor, weight: np.ndarray) -> float:
    """Of all entries together, in float64."""
    w = Place(X.device).tensor(weight)
    parts = list(row_blocks(len(X), X.shape[1], MOST_MOVED))
    entries = float(weight.sum()) * X.shape[1]
    mean = sum(float(w[part] @ X[part].double().sum(dim=1)) for part in parts) / entries
    return sum(float(w[part] @ (X[part].double() - mean).square_().sum(dim=1)) for part in parts) / entries


def check_on_device(kernel: Any) -> None:
    """Refuse a kernel whose values devices do not compute."""
    left = [kernel]
    while left:
        part = left.pop()
        if isinstance(part, Composite):
            left.extend(part.kernels)
        elif isinstance(part, INSIDE_ONE):
            left.append(part.kernel)
        elif not isinstance(part, Constant) and (not isinstance(part, Kernel) or part.native() is None):
            raise DomainError(
                f"device must be None with {part!r}: devices compute kernels on vectors that are functions of a sum "
                "over the features, and what is made of them by the algebra of kernels."
            )


def _middle(X: Tensor) -> Tensor:
    """The mean of vectors, in float64; the origin where there are none."""
    return X.double().sum(dim=0) / max(1, len(X))


def _plain(kernel: Kernel, X: Any) -> Any:
    """Vectors, checked by every kernel inside; all of them take the same."""
    if isinstance(kernel, Composite):
        return reduce(lambda vectors, part: _plain(part, vectors), kernel.kernels, X)
    if isinstance(kernel, INSIDE_ONE):
        return _plain(kernel.kernel, X)
    if isinstance(kernel, Constant):
        return X
    # Words of categories would have other numbers in other samples.
    return kernel.prepare(X)[0] if kernel.domain == "vectors" else as_vectors(X, type(kernel).__name__)


class Frame(NamedTuple):
    """How values are computed."""

    place: Place
    dtype: Any
    centre: Tensor | None

    def ready(self, spec: NativeSpec, X: Tensor) -> Tensor:
        """Vectors about the centre where a shift is not felt, with the weights of their features, rounded last."""
        if spec.centre and self.centre is not None:
            X = X - self.centre
        if spec.weights is not None:
            X = X * self.place.tensor(spec.weights)
        # Categories that float32 does not tell apart would match.
        return X if spec.measure == "match" else X.to(self.dtype)

    def full(self, shape: tuple[int, ...], value: float) -> Tensor:
        """A tensor of one number."""
        return self.place.torch.full(shape, value, dtype=self.dtype, device=self.place.device)


# --- the algebra ------------------------------------------------------------------------------------------


def values(kernel: Any, X: Tensor, Z: Tensor, frame: Frame) -> Tensor:
    """k(x, z) of all pairs, in a tensor of their own."""
    if isinstance(kernel, Normalized | RBFOf):
        x, z = (diagonal(kernel.kernel, side, frame) for side in (X, Z))
        return _of_geometry(kernel, values(kernel.kernel, X, Z, frame), x[:, None], z)
    if (parts := _parts(kernel)) is not None:
        return _combined(kernel, (values(part, X, Z, frame) for part in parts))
    if isinstance(kernel, Constant):
        return frame.full((len(X), len(Z)), float(kernel.value))
    spec = kernel.native()
    x, z = frame.ready(spec, X), frame.ready(spec, Z)
    if (spec.measure, spec.transform) == ("l2", "exp"):
        return _gaussian(frame.place.torch, spec.parameters[0], x, z)
    return transformed(spec, MEASURES[spec.measure](frame.place.torch, spec, x, z).to(frame.dtype), x, z)


def diagonal(kernel: Any, X: Tensor, frame: Frame) -> Tensor:
    """k(x, x) of all vectors."""
    if isinstance(kernel, Normalized | RBFOf):
        x = diagonal(kernel.kernel, X, frame)
        return (x > 0).to(x.dtype) if isinstance(kernel, Normalized) else frame.full((len(X),), 1.0)
    if (parts := _parts(kernel)) is not None:
        return _combined(kernel, (diagonal(part, X, frame) for part in parts))
    if isinstance(kernel, Constant):
        return frame.full((len(X),), float(kernel.value))
    return _own(kernel.native(), X, frame)


def _parts(kernel: Any) -> Any:
    """The kernels whose values are combined pair by pair, None where there are none."""
    if isinstance(kernel, Composite):
        return kernel.kernels
    return (kernel.kernel,) if isinstance(kernel, Pointwise) else None


def _combined(kernel: Any, parts: Iterator[Tensor]) -> Tensor:
    """Values from those of the parts, in their place."""
    match kernel:
        case Sum():
            return reduce(lambda K, part: K.add_(part), parts)
        case Product():
            return reduce(lambda K, part: K.mul_(part), parts)
        case Power():
            return next(parts).pow_(kernel.exponent)
        case Exp():
            K = next(parts).exp_()
            if not bool(K.isfinite().all()):
                raise ValueError("exp(k) overflows on this device; divide k by a number.")
            return K
        case Geometric():
            K = next(parts)
            kernel._check_radius(np.array([K.max().item()] if K.numel() else []))
            return K.neg_().add_(float(kernel.rho)).reciprocal_()
    *others, last = map(float, kernel.coefficients)  # of a polynomial, by Horner's rule
    K = next(parts)
    total = K.new_full(K.shape, last)
    for coefficient in reversed(others):
        total.mul_(K).add_(coefficient)
    return total


def _of_geometry(kernel: Any, K: Tensor, x: Tensor, z: Tensor) -> Tensor:
    """Cosines of angles, or the Gaussian of distances, from inner products and squared lengths."""
    if isinstance(kernel, Normalized):
        if bool((x < 0).any()) or bool((z < 0).any()):
            raise DomainError(f"{type(kernel.kernel).__name__} cannot be normalised on samples where k(x, x) < 0.")
        return _over(_over(K, x.sqrt()), z.sqrt())
    return K.mul_(-2.0).add_(x).add_(z).clamp_(min=0.0).mul_(-0.5 / float(kernel.sigma) ** 2).exp_()


def _over(K: Tensor, lengths: Tensor) -> Tensor:
    """K over lengths, 0 where these are."""
    return K.div_(lengths).masked_fill_(lengths == 0, 0.0)


# --- measures and transforms ------------------------------------------------------------------------------


def _dot(torch: Any, spec: NativeSpec, x: Tensor, z: Tensor) -> Tensor:
    return x @ z.T


def _l2(torch: Any, spec: NativeSpec, x: Tensor, z: Tensor) -> Tensor:
    if spec.transform == "exp_sqrt":  # what rounding leaves of a distance of zero would have a root that is seen
        return torch.cdist(x, z, compute_mode="donot_use_mm_for_euclid_dist").square_()
    squares = torch.addmm(_squares(z), x, z.T, alpha=-2.0)
    return squares.add_(_squares(x)[:, None]).clamp_(min=0.0)


def _gaussian(torch: Any, a: float, x: Tensor, z: Tensor) -> Tensor:
    """exp(-a |x - z|^2), with squared lengths as two more features: a product of matrices and one pass over it."""
    left = torch.cat([2.0 * a * x, -a * _squares(x)[:, None], x.new_ones((len(x), 1))], dim=1)
    right = torch.cat([z, z.new_ones((len(z), 1)), -a * _squares(z)[:, None]], dim=1)
    return (left @ right.T).exp_()


def _l1(torch: Any, spec: NativeSpec, x: Tensor, z: Tensor) -> Tensor:
    return torch.cdist(x, z, p=1.0)


def _min(torch: Any, spec: NativeSpec, x: Tensor, z: Tensor) -> Tensor:
    # min(x, z) = (x + z - |x - z|) / 2
    return _l1(torch, spec, x, z).neg_().add_(x.sum(dim=1)[:, None]).add_(z.sum(dim=1)).mul_(0.5)


def _chi2(torch: Any, spec: NativeSpec, x: Tensor, z: Tensor) -> Tensor:
    total = x.new_zeros((len(x), len(z)))
    for one, other in zip(x.T, z.T, strict=True):
        sums = one[:, None] + other
        total += _over((one[:, None] - other).square_(), sums)
    return total


def _match(torch: Any, spec: NativeSpec, x: Tensor, z: Tensor) -> Tensor:
    return torch.cdist(x, z, p=0.0).neg_().add_(x.shape[1])


MEASURES = {"dot": _dot, "l2": _l2, "l1": _l1, "min": _min, "chi2": _chi2, "match": _match}


def transformed(spec: NativeSpec, t: Tensor, x: Tensor, z: Tensor) -> Tensor:
    """Kernel values in the place of their measures (cpp/mercer/kernels.hpp)."""
    a, b, c = spec.parameters
    match spec.transform:
        case "identity":
            return t if a == 1.0 else t.mul_(a)
        case "exp":
            return t.mul_(-a).exp_()
        case "exp_sqrt":
            return t.sqrt_().mul_(-a).exp_()
        case "power":
            return t.mul_(a).add_(b).pow_(int(c))
        case "tanh":
            return t.mul_(a).add_(b).tanh_()
        case "matern32":
            u = t.sqrt_().mul_(a)
            return u.neg().exp_().mul_(u.add_(1.0))
        case "matern52":
            u = t.sqrt_().mul_(a)
            return u.neg().exp_().mul_((u / 3.0).add_(1.0).mul_(u).add_(1.0))
        case "rational":
            return t.mul_(a).add_(1.0).pow_(-b)
        case "cosine":
            return _over(_over(t, _squares(x).sqrt()[:, None]), _squares(z).sqrt())
        case "tanimoto":
            union = (_squares(x)[:, None] + _squares(z)).sub_(t)
            return t.div_(union).masked_fill_(union == 0, 1.0)
    raise ValueError(f"Devices do not know the transform {spec.transform!r}.")


def _own(spec: NativeSpec, X: Tensor, frame: Frame) -> Tensor:
    """k(x, x) from the measure of a vector with itself, which most know."""
    x = frame.ready(spec, X)
    if spec.transform == "tanimoto":
        return frame.full((len(x),), 1.0)
    known = {
        "dot": lambda: _squares(x),
        "min": lambda: x.sum(dim=1),
        "match": lambda: x.new_full((len(x),), x.shape[1]),
    }
    t = known.get(spec.measure, lambda: x.new_zeros(len(x)))().to(frame.dtype)
    return (t > 0).to(t.dtype) if spec.transform == "cosine" else transformed(spec, t, x, x)


def _squares(x: Tensor) -> Tensor:
    """Squared lengths."""
    return (x * x).sum(dim=1)
