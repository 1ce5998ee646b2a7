"""Structured outputs that are few enough to be written down, and the optimum over all of them by a conic solver."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from mercer.gram import MatrixGram
from mercer.kernels.samples import take
from mercer.problems import BlockSimplexProblem, Planes, StructuredProblem
from mercer.solvers.cones import ConicProgramme
from mercer.structured.problem import ModelProblem


class EnumeratedProblem(StructuredProblem):
    """All planes of all samples: psi of shape (n, k, size), the losses of shape (n, k), the first ones zero."""

    def __init__(self, psi: np.ndarray, loss: np.ndarray, cost: np.ndarray):
        super().__init__(psi.shape[2], cost)
        self.psi, self.loss = psi, loss

    @classmethod
    def random(cls, seed: int, n: int = 12, k: int = 5, size: int = 6, scale: float = 1.0) -> "EnumeratedProblem":
        """Right outputs are better than others for some weights, by and large."""
        rng = np.random.default_rng(seed)
        features, truth = rng.normal(size=(n, k, size)), rng.normal(size=size)
        best = np.argmax(features @ truth + rng.normal(size=(n, k)), axis=1)
        features[np.arange(n), [0] * n], features[np.arange(n), best] = (
            features[np.arange(n), best],
            features[np.arange(n), [0] * n],
        )
        loss = rng.uniform(0.5, 2.0, size=(n, k))
        loss[:, 0] = 0.0
        return cls(features[:, :1] - features, loss, scale * rng.uniform(0.2, 2.0, size=n))

    @classmethod
    def of(cls, problem: ModelProblem, outputs: list[Any]) -> "EnumeratedProblem":
        """The problem of a model whose samples may all have one of some outputs."""
        psi, losses = [], []
        for i in range(problem.n):
            X, Y = (take(part, np.full(len(outputs), i)) for part in (problem.X, problem.Y))
            loss = np.asarray(problem.model.losses(Y, outputs))
            difference = problem.model.differences(X, Y, outputs).toarray()
            psi.append(difference * (loss[:, np.newaxis] if problem.rescaling == "slack" else 1.0))
            losses.append(loss)
        return cls(np.array(psi), np.array(losses), problem.cost)

    def planes(self, w: np.ndarray, samples: np.ndarray) -> Planes:
        chosen = np.argmax(self.loss[samples] - self.psi[samples] @ w, axis=1)
        return Planes(csr_array(self.psi[samples, chosen]), self.loss[samples, chosen])

    def all_planes(self) -> tuple[np.ndarray, Planes]:
        """The sample of every plane but those of right outputs, and all of them, sample by sample."""
        n, k = self.loss.shape
        psi = csr_array(vstack([csr_array(self.psi[i, 1:]) for i in range(n)]))
        return np.repeat(np.arange(n), k - 1), Planes(psi, self.loss[:, 1:].ravel())

    def objective(self, w: np.ndarray) -> float:
        """By the definition."""
        return 0.5 * w @ w + self.cost @ np.max(self.loss - self.psi @ w, axis=1)

    def block_simplex(self) -> BlockSimplexProblem:
        """The dual over all outputs."""
        block, planes = self.all_planes()
        gram = MatrixGram((planes.psi @ planes.psi.T).toarray(), definite=True)
        return BlockSimplexProblem(block, self.cost, gram, planes.loss)

    def optimum(self, tolerance: float = 1e-10) -> float:
        """The smallest objective, by a conic solver over w and a slack for every sample. [CY eqs 2.58-2.59]"""
        block, planes = self.all_planes()
        programme = ConicProgramme("a reference")
        w, slack = programme.variables(np.zeros(self.size), 1.0), programme.variables(self.cost)
        programme.require("nonnegative", np.zeros(self.n), (0, np.eye(self.n), slack))
        programme.require("nonnegative", -planes.loss, (0, planes.psi, w), (0, np.eye(self.n)[block], slack))
        found = programme.solve(tolerance)
        assert found.status == "Solved"
        return found.objective
