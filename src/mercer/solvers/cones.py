"""Conic programmes, put together block by block and given to Clarabel."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csc_array, diags_array, eye_array

from mercer.extras import require

__all__ = ["ConicProgramme", "ConicSolution", "tolerances"]

# How exact the package is asked to be, as parts of the gap that is wanted, and what it can do at best.
SHARES, FINEST = (1e-2, 1e-4, 1e-6), 1e-12


def tolerances(gap: float) -> list[float]:
    """What to ask the package for, one after the other, until a relative gap is reached."""
    return [max(FINEST, share * gap) for share in SHARES]


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """Where the package ended."""

    status: str
    """The package's own word."""
    x: np.ndarray
    """The variables."""
    objective: float
    bound: float
    """The value of the dual."""
    slack: list[np.ndarray] = field(repr=False)
    """What lies in each of the cones."""
    multiplier: list[np.ndarray] = field(repr=False)
    """The dual variables of each of the cones."""

    @property
    def solved(self) -> bool:
        """Whether that is the optimum, to what was asked for or nearly so; if not, no number here means anything."""
        return self.status in ("Solved", "AlmostSolved")


class ConicProgramme:
    """min 1/2 x'Px + q'x over x for which affine functions lie in cones, with a diagonal P.

    Parameters
    ----------
    who : str
        Needs the package, for the error where it is missing.
    """

    def __init__(self, who: str):
        self.cones = require("clarabel", who)
        self._linear: list[np.ndarray] = []
        self._square: list[np.ndarray] = []
        self._entries: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self._constants: list[np.ndarray] = []
        self._kinds: list[Any] = []
        self.n_variables = self.n_rows = 0

    def variables(self, linear: Any, square: Any = 0.0) -> np.ndarray:
        """New variables, by their part q of the objective and that of P; their numbers."""
        linear = np.atleast_1d(np.asarray(linear, dtype=float))
        self._linear.append(linear)
        self._square.append(np.broadcast_to(square, linear.shape))
        self.n_variables += len(linear)
        return np.arange(self.n_variables - len(linear), self.n_variables)

    def require(self, cone: str, constant: Any, *terms: tuple[int, Any, np.ndarray], power: float = 0.5) -> int:
        """Require that a constant and matrices times variables, added up, lie in a cone; its number.

        Parameters
        ----------
        cone : {"zero", "nonnegative", "second order", "power", "semidefinite"}
            The last is for the upper triangle of a matrix, column by column, other than diagonal entries times the root
            of two.
        constant : array of shape (m,)
        *terms : (first row, matrix of k columns, numbers of k variables)
        power : float, default=0.5
            The alpha of a power cone :math:`x^\\alpha y^{1 - \\alpha} \\ge |z|`.
        """
        constant = np.asarray(constant, dtype=float)
        for first, matrix, columns in terms:
            some = coo_array(matrix)
            self._entries.append((self.n_rows + first + some.row, columns[some.col], -some.data))
        self._constants.append(constant)
        self.n_rows += len(constant)
        m, kinds = len(constant), self.cones
        made = {
            "zero": lambda: kinds.ZeroConeT(m),
            "nonnegative": lambda: kinds.NonnegativeConeT(m),
            "second order": lambda: kinds.SecondOrderConeT(m),
            "power": lambda: kinds.PowerConeT(power),
            "semidefinite": lambda: kinds.PSDTriangleConeT(int(np.sqrt(2 * m))),
        }
        self._kinds.append(made[cone]())
        return len(self._kinds) - 1

    def require_product(self, x: np.ndarray, y: int, z: int, factor: float = 1.0) -> int:
        """Require of variables that x'x <= 2 factor y z, and that y and z are not negative; the number of the cone."""
        some = np.array([[1.0, factor], [1.0, -factor]])
        root = np.sqrt(2.0) * eye_array(len(x))
        return self.require("second order", np.zeros(2 + len(x)), (0, some, np.array([y, z])), (2, root, x))

    def solve(self, tolerance: float, max_seconds: float = np.inf) -> ConicSolution:
        """Walk to the optimum."""
        settings = self.cones.DefaultSettings()
        settings.verbose = False
        settings.max_threads = 1
        settings.time_limit = max_seconds
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        # Along power cones steps may be short for a while: by default that is where the package gives up.
        settings.min_switch_step_length, settings.min_terminate_step_length = 1e-3, 1e-10
        rows, columns, values = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        A = csc_array((values, (rows, columns)), shape=(self.n_rows, self.n_variables))
        P, q = csc_array(diags_array(np.concatenate(self._square))), np.concatenate(self._linear)
        found = self.cones.DefaultSolver(P, q, A, np.concatenate(self._constants), self._kinds, settings).solve()
        ends = np.cumsum([len(part) for part in self._constants])[:-1]
        return ConicSolution(
            status=str(found.status),
            x=np.array(found.x),
            objective=found.obj_val,
            bound=found.obj_val_dual,
            slack=np.split(np.array(found.s), ends),
            multiplier=np.split(np.array(found.z), ends),
        )
