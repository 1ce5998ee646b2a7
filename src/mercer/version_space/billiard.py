"""A billiard in version space: a particle that bounces off the walls."""

import time
from dataclasses import dataclass

import numpy as np

from mercer.version_space.base import VersionSpace

__all__ = ["Draws", "billiard"]

# Particles side by side; their means, which know nothing of each other, tell how exact the mean of all is.
PARTICLES = 32
# Of every particle's flights, the share that is left out: it has to forget where it began.
BURN_IN = 0.2
FLIGHT = 0.5 * np.pi
# Most bounces of a flight, for each wall; a particle in a corner may need many, and is put back after that.
MOST_BOUNCES = 50
# Eigenvalues below this fraction of the largest are no dimensions.
FLAT = 1e-12


@dataclass(frozen=True)
class Draws:
    """What a billiard has seen."""

    angle_error: float
    """Standard error of the direction, in radians."""
    effective_samples: float
    """As many independent directions would have told as much."""
    n_samples: int
    """Flights that were counted."""
    n_iter: int
    """All flights, one after the other, of every particle."""
    n_bounces: int
    """Bounces in all flights."""
    seconds: float
    """Wall-clock time."""


def billiard(space: VersionSpace, n_samples: int, seed: np.random.Generator) -> tuple[np.ndarray, Draws]:
    """The beta of the mean of a normal w given that it is in version space, by simulation, and how well it is known.

    A particle at w with a normal velocity v flies along :math:`w \\cos t + v \\sin t`, which keeps the normal
    distribution, and where it meets a wall its velocity is mirrored there. After a quarter of a turn it gets another
    velocity. Positions on the way are averaged over time.
    """
    began = time.perf_counter()
    values, vectors = np.linalg.eigh(space.cosines)
    kept = values > FLAT * values[-1]
    root, U = np.sqrt(values[kept]), vectors[:, kept]
    normals = U * root  # a_i in rows
    start = root * (U.T @ space.inside())
    flights = -(-n_samples // PARTICLES)
    burn_in = int(np.ceil(BURN_IN * flights))
    w = np.tile(start * np.sqrt(len(root)) / np.linalg.norm(start), (PARTICLES, 1))
    of_particles, squares, n_bounces = np.zeros(w.shape), 0.0, 0
    for k in range(-burn_in, flights):
        w, way, bounces = _fly(normals, space.cosines, w, seed.normal(size=w.shape))
        n_bounces += bounces
        if k >= 0:
            of_particles += way / flights
            squares += float((way**2).sum()) / (flights * PARTICLES)
    mean = of_particles.mean(axis=0)
    off = of_particles - mean
    error = float((off**2).sum() / (PARTICLES * (PARTICLES - 1)))  # squared, of the mean of all
    along = float(((off @ mean) ** 2).sum() / (mean @ mean) / (PARTICLES * (PARTICLES - 1)))  # that is no angle
    draws = Draws(
        angle_error=float(np.sqrt(max(0.0, error - along) / (mean @ mean))),
        effective_samples=(squares - float(mean @ mean)) / error,
        n_samples=flights * PARTICLES,
        n_iter=burn_in + flights,
        n_bounces=n_bounces,
        seconds=time.perf_counter() - began,
    )
    return U @ (mean / root), draws


def _fly(
    normals: np.ndarray, cosines: np.ndarray, start: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray, int]:
    """One flight of every particle: where it ends, the mean of its way, and the bounces of all."""
    w, left, way = start.copy(), np.full(len(start), FLIGHT), np.zeros(start.shape)
    m, g = np.maximum(w @ normals.T, 0.0), v @ normals.T  # distances from the walls and their derivatives
    n_bounces, flying = 0, np.arange(len(w))
    for _ in range(MOST_BOUNCES * len(normals)):
        # m cos t + g sin t is zero, and falling, at t = atan2(g, m) + pi / 2.
        hits = np.arctan2(g[flying], m[flying]) + 0.5 * np.pi
        wall = hits.argmin(axis=1)
        first = hits[np.arange(len(flying)), wall]
        t = np.minimum(first, left[flying])[:, np.newaxis]
        cos, sin = np.cos(t), np.sin(t)
        way[flying] += w[flying] * sin + v[flying] * (1.0 - cos)
        w[flying], v[flying] = w[flying] * cos + v[flying] * sin, v[flying] * cos - w[flying] * sin
        m[flying], g[flying] = np.maximum(m[flying] * cos + g[flying] * sin, 0.0), g[flying] * cos - m[flying] * sin
        left[flying] -= t[:, 0]
        bounced = first <= t[:, 0]
        flying, wall = flying[bounced], wall[bounced]
        if not len(flying):
            break
        n_bounces += len(flying)
        into = g[flying, wall][:, np.newaxis]
        v[flying] -= 2.0 * into * normals[wall]
        g[flying] -= 2.0 * into * cosines[wall]
        m[flying, wall] = 0.0
    w[flying], way[flying] = start[flying], FLIGHT * start[flying]  # caught in a corner
    return w, way / FLIGHT, n_bounces
