"""Kernel matrices on disk."""

import os
import tempfile
import warnings
from contextlib import suppress
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mercer.fingerprint import fingerprint
from mercer.kernels.algebra.base import Wrapped
from mercer.kernels.base import USED_ONCE
from mercer.kernels.samples import take

__all__ = ["Cached"]

SUFFIX = ".gram"
DIGEST_BYTES = 16


class Cached(Wrapped):
    """A kernel whose matrices are kept on disk, for kernels that take long.

    A matrix is known by the kernel with its parameters, by the content of the samples and by the version of this
    library. It is computed once, by whatever process is first, and read from then on.

    Parameters
    ----------
    kernel : Kernel
        What is computed.
    folder : str or path
        Where files are kept; made when it is needed.

    See Also
    --------
    Indexed : A kernel given as a matrix.

    Notes
    -----
    Values are those of the kernel to the last bit. What is kept are whole matrices, as machines and searches ask for in
    training; predictions and products without a matrix are computed as ever. A file is written under another name and
    renamed when it is complete, so that processes may share a folder and none ever reads half a file. A file that is
    damaged is computed and written again, with a warning. Code of your own is known by its text where it is a function;
    clear the folder after changing a kernel class.

    Examples
    --------
    >>> import tempfile
    >>> from mercer.kernels import Cached, RBF
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     kernel = Cached(RBF(gamma=1.0), folder)
    ...     K = kernel([[0.0], [1.0]])
    ...     print(kernel([[0.0], [1.0]]).round(3))
    ...     print(kernel.n_files(), kernel.n_bytes())
    ...     kernel.clear()
    ...     print(kernel.n_files())
    [[1.    0.368]
     [0.368 1.   ]]
    1 176
    0
    """

    def __init__(self, kernel, folder):
        self.kernel = kernel
        self.folder = folder

    @property
    def infinitely_divisible(self) -> bool:  # type: ignore[override]
        return self.kernel.infinitely_divisible

    def _check_parameters(self):
        super()._check_parameters()
        if not isinstance(self.folder, str | os.PathLike):
            raise ValueError(f"folder must be a path, got {self.folder!r}.")

    def prepare(self, X, Y=None):
        """The samples as they are: where the matrix is known nothing needs to be prepared."""
        return X, X if Y is None else Y

    def _matrix(self, X, Y):
        return self._kept("_matrix", X, Y)

    def _log_matrix(self, X, Y):
        return None if self._log_diag(take(X, slice(0, 0))) is None else self._kept("_log_matrix", X, Y)

    def _kept(self, method: str, X: Any, Y: Any) -> np.ndarray:
        """What a method of the kernel inside makes of all pairs, from the folder if it is there."""
        if USED_ONCE.get():
            return getattr(self.kernel, method)(*self._inside(X, Y))
        version = import_module("mercer").__version__
        path = Path(self.folder) / (fingerprint(version, self.kernel, method, X, None if Y is X else Y) + SUFFIX)
        K = _read(path)
        if K is None:
            K = getattr(self.kernel, method)(*self._inside(X, Y))
            _write(path, K)
        return K

    def _inside(self, X: Any, Y: Any) -> tuple[Any, Any]:
        return self.kernel.prepare(X, None if Y is X else Y)

    def _diag(self, X):
        return self.kernel._diag(self._inside(X, X)[0])

    def _log_diag(self, X):
        return self.kernel._log_diag(self._inside(X, X)[0])

    def _dot(self, X, Y, V):
        return self.kernel._dot(*self._inside(X, Y), V)

    def _dot_rows(self, X, Y, rows):
        return self.kernel._dot_rows(*self._inside(X, Y), rows)

    def _vjp(self, X, W):
        return self._vjp_inside(self._inside(X, X)[0], W)

    def _log_vjp(self, X, W):
        return self._named(self.kernel._log_vjp(self._inside(X, X)[0], W))

    def features(self, X):
        """Explicit feature vectors of the kernel inside.

        Parameters
        ----------
        X : n samples

        Returns
        -------
        ndarray or CSR array of shape (n, n_components)
        """
        return self.kernel.features(X)

    def _sparse_features(self, X):
        return self.kernel._sparse_features(self._inside(X, X)[0])

    def _spectral_measure(self, d):
        return self.kernel._spectral_measure(d)

    # --- the folder ---------------------------------------------------------------------------------------

    def _files(self) -> list[Path]:
        return sorted(Path(self.folder).glob(f"*{SUFFIX}"))

    def n_files(self) -> int:
        """Number of matrices in the folder, of all kernels.

        Returns
        -------
        int
        """
        return len(self._files())

    def n_bytes(self) -> int:
        """What the matrices in the folder take on disk.

        Returns
        -------
        int
        """
        total = 0
        for path in self._files():
            with suppress(FileNotFoundError):  # another process may clear the folder
                total += path.stat().st_size
        return total

    def clear(self) -> None:
        """Delete all matrices in the folder, of all kernels, and nothing else."""
        for path in self._files():
            path.unlink(missing_ok=True)


def _read(path: Path) -> np.ndarray | None:
    """The matrix in a file; None if there is none, or if it is damaged."""
    try:
        with path.open("rb") as file:
            digest = file.read(DIGEST_BYTES)
            K = np.load(file, allow_pickle=False)
            whole = not file.read(1) and _digest(K) == digest
    except FileNotFoundError:
        return None
    except (OSError, ValueError, EOFError):
        whole = False
    if not whole:
        warnings.warn(f"{path} is damaged; its matrix is computed again.", RuntimeWarning, stacklevel=2)
        return None
    return K


def _write(path: Path, K: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # A name of its own, so that two processes never write into one file; renaming is atomic.
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.stem, suffix=".part", delete=False) as file:
        try:
            file.write(_digest(K))
            np.save(file, np.ascontiguousarray(K), allow_pickle=False)
            file.close()
            os.replace(file.name, path)
        except BaseException:
            file.close()
            Path(file.name).unlink(missing_ok=True)
            raise


def _digest(K: np.ndarray) -> bytes:
    digest = blake2b(f"{K.shape} {K.dtype.str}".encode("ascii"), digest_size=DIGEST_BYTES)
    digest.update(np.ascontiguousarray(K).reshape(-1).view(np.uint8).data if K.size else b"")
    return digest.digest()
