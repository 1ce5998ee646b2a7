"""What is wrong with a kernel matrix, in words, and a width that would be better."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from mercer.gram.checks import as_matrix
from mercer.gram.spectra import MatrixSpectrum, spectrum
from mercer.kernels import Kernel, as_kernel
from mercer.kernels.samples import in_full, n_samples, take

__all__ = ["Diagnosis", "Finding", "diagnose"]

# The most similar other sample of most samples, as a cosine: below this nothing can be learnt from it.
NO_NEIGHBOUR = 0.1
# The mean squared distance of samples over twice their mean squared length: below this they are all the same.
NO_SPREAD = 0.01
# Rows of K that differ by less than this, relative to the largest entry, are those of one sample.
EQUAL = 1e-12
# Lengths in feature space that differ by this factor make some samples count far more than others.
UNEVEN = 100.0
# Widths are looked for on so many samples at most.
MOST_SAMPLES = 2000


@dataclass(frozen=True)
class Finding:
    """Something about a kernel matrix that will trouble a machine."""

    name: str
    """"identity", "constant", "diagonal dominance", "indefinite", "duplicates", "uneven diagonal" or "no length"."""
    value: float
    """How much of it there is."""
    message: str
    """What was seen."""
    remedy: str
    """What to do."""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What was found in a kernel matrix.

    See Also
    --------
    diagnose : Makes it.
    """

    findings: tuple[Finding, ...]
    """From the gravest on; none if nothing is wrong."""
    spectrum: MatrixSpectrum
    """The eigenvalues."""
    widths: dict[str, float]
    """Suggested values of the parameters of the kernel that are widths, by their names; empty without a kernel."""
    gamma_factor: float | None
    """For a matrix of values exp(-gamma d): what times gamma makes typical exponents 1; None for others."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the findings."""
        return tuple(finding.name for finding in self.findings)

    def __str__(self) -> str:
        lines = [
            f"kernel matrix of {len(self.spectrum.eigenvalues)} samples" + ("" if self.findings else ": all is well")
        ]
        for finding in self.findings:
            lines += [f"{finding.name}: {finding.message}", f"    {finding.remedy}"]
        if self.widths:
            values = ", ".join(f"{name}={value:.4g}" for name, value in self.widths.items())
            lines.append(f"typical exponents are 1 for {values}")
        elif self.gamma_factor is not None:
            lines.append(f"if it is exp(-gamma d), typical exponents are 1 for {self.gamma_factor:.4g} * gamma")
        return "\n".join(lines)

    __repr__ = __str__


def diagnose(kernel: Any, X: Any = None) -> Diagnosis:
    r"""Name what is wrong with a kernel matrix, and suggest a width. [CY §1.6]

    "identity"
       Samples are similar to nothing but themselves: for most of them the largest cosine
       :math:`|k(x, x')| / \sqrt{k(x, x) k(x', x')}` with another one is below 0.1. The width is too small.
    "constant"
       All samples are alike: their mean squared distance is below a hundredth of twice the mean of k(x, x). The width
       is too large, or the feature vectors share a large part, which `center` removes.
    "diagonal dominance"
       For most samples k(x, x) is more than the sum of all other :math:`|k(x, x')|` of its row. Kernels on strings and
       graphs tend to it: use shorter parts, a smaller weight of long ones.
    "indefinite"
       There are negative eigenvalues. See `Repair`.
    "duplicates"
       Rows are equal: samples are repeated, or the kernel cannot tell them apart.
    "no length", "uneven diagonal"
       k(x, x) is not positive for some sample, or more than 10 000 times as large for one as for another: normalise.

    Parameters
    ----------
    kernel : array of shape (n, n), Gram, Kernel, str or callable
        A kernel matrix; or a kernel, together with samples.
    X : n samples, default=None
        Where a kernel is given.

    Returns
    -------
    Diagnosis
        With a readable text.

    Notes
    -----
    The width that is suggested makes exponents of typical pairs 1: by the median of the distances of different samples,
    as ``gamma="median"`` does. That is where to look; the best one is found by `mercer.selection`. Time O(n^3) for the
    eigenvalues.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.gram import diagnose
    >>> from mercer.kernels import RBF
    >>> X = np.random.default_rng(0).normal(size=(100, 5))
    >>> diagnose(RBF(gamma=10.0), X)
    kernel matrix of 100 samples
    identity: the largest cosine with another sample is 2.6e-05, in the median
        widen the kernel, or count smaller parts
    typical exponents are 1 for gamma=0.1146
    >>> diagnose(RBF(gamma=0.1), X).names
    ()
    """
    if isinstance(kernel, (Kernel, str)) or (callable(kernel) and not hasattr(kernel, "shape")):
        if X is None:
            raise ValueError("X must be given where a kernel is: samples to compute its matrix from.")
        kernel = as_kernel(kernel)
        X = in_full(X)
        K, widths = as_matrix(kernel(X), "the kernel matrix"), _widths(kernel, X)
    elif X is not None:
        raise ValueError(
            "X must be None where a kernel matrix is given; give the kernel with it, to learn about widths."
        )
    else:
        K, widths = as_matrix(kernel), {}
    eigenvalues = spectrum(K)
    if len(K) == 1:
        return Diagnosis((), eigenvalues, widths, None)
    return Diagnosis(tuple(_findings(K, eigenvalues)), eigenvalues, widths, _gamma_factor(K))


def _findings(K: np.ndarray, eigenvalues: MatrixSpectrum) -> list[Finding]:
    found = []
    n, diagonal = len(K), np.diagonal(K)
    others = np.abs(K - np.diag(diagonal))
    if not eigenvalues.definite:
        share = eigenvalues.negative_share
        text = f"{eigenvalues.n_negative} of {n} eigenvalues are negative, with {share:.2%} of the sum of their sizes"
        found.append(Finding("indefinite", share, text, "repair it, see mercer.gram.Repair"))
    size = float(np.abs(K).max())
    if size == 0.0 or diagonal.min() <= EQUAL * size:
        lost = int(np.sum(diagonal <= EQUAL * size))
        text = f"k(x, x) is not positive for {lost} samples, which are nothing in feature space"
        found.append(Finding("no length", float(lost), text, "leave them out, or add a constant to the kernel"))
    else:
        found += _degenerate(diagonal, others)
        ratio = float(diagonal.max() / diagonal.min())
        if ratio > UNEVEN**2:
            text = f"k(x, x) is {ratio:.2g} times as large for one sample as for another"
            found.append(Finding("uneven diagonal", ratio, text, "normalise the kernel"))
    spread = 1.0 - float(K.mean()) / float(diagonal.mean()) if diagonal.mean() > 0 else 1.0
    spread *= n / (n - 1)  # the mean over pairs of different samples
    if spread < NO_SPREAD:
        text = f"squared distances of samples are {spread:.2g} times twice their squared lengths, in the mean"
        found.append(Finding("constant", spread, text, "narrow the kernel, or centre it"))
    elif repeated := _repeated(K, EQUAL * size):
        text = f"{repeated} of {n} samples repeat the row of another one"
        found.append(Finding("duplicates", float(repeated), text, "give them weights, or use a kernel that sees more"))
    return found


def _degenerate(diagonal: np.ndarray, others: np.ndarray) -> list[Finding]:
    """Samples that are similar to themselves alone, or nearly so."""
    length = np.sqrt(diagonal)
    nearest = float(np.median((others / length[:, np.newaxis] / length).max(axis=1)))
    if nearest < NO_NEIGHBOUR:
        text = f"the largest cosine with another sample is {nearest:.2g}, in the median"
        return [Finding("identity", nearest, text, "widen the kernel, or count smaller parts")]
    share = float(np.mean(diagonal > others.sum(axis=1)))
    if share > 0.5:
        text = f"k(x, x) is more than all other values of its row together for {share:.0%} of the samples"
        return [Finding("diagonal dominance", share, text, "widen the kernel, or count smaller parts")]
    return []


def _repeated(K: np.ndarray, tolerance: float) -> int:
    """How many samples have the row of an earlier one."""
    diagonal = np.diagonal(K)
    close = np.abs(diagonal[:, np.newaxis] - K) <= tolerance
    close &= close.T
    first, second = np.nonzero(np.triu(close, 1))
    same = np.array([np.abs(K[i] - K[j]).max() <= tolerance for i, j in zip(first, second, strict=True)], dtype=bool)
    return len(np.unique(second[same]))


def _gamma_factor(K: np.ndarray) -> float | None:
    """1 over the median exponent of a matrix with the values exp(-exponent); None if it has others."""
    values = K[np.triu_indices(len(K), 1)]
    if not (np.diagonal(K) == 1.0).all() or values.min() <= 0.0 or values.max() > 1.0:
        return None
    exponents = -np.log(values[values < 1.0])
    return float(1.0 / np.median(exponents)) if len(exponents) else None


def _widths(kernel: Kernel, X: Any) -> dict[str, float]:
    """What the rule "median" makes of every parameter that knows it."""
    parameters = kernel.get_params()
    rules = {name: _owner(kernel, name)._parameters.get(name.rpartition("__")[2]) for name in parameters}
    names = [name for name, rule in rules.items() if "median" in getattr(rule, "words", ())]
    if not names:
        return {}
    # Evenly spaced samples where there are many: enough for a median.
    some = take(X, slice(None, None, max(1, n_samples(X) // MOST_SAMPLES)))
    found = clone(kernel).set_params(**dict.fromkeys(names, "median")).resolve(some).get_params()
    return {name: float(found[name]) for name in names}


def _owner(kernel: Any, name: str) -> Any:
    """The kernel inside a kernel that has the parameter."""
    path = name.rpartition("__")[0]
    return kernel.get_params()[path] if path else kernel
