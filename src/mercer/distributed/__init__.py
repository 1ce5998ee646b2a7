"""Samples on many machines: Dask collections."""

from mercer.distributed.landmark_matrix import DaskLandmarkMatrix
from mercer.distributed.rows import DaskRows

__all__ = ["DaskLandmarkMatrix", "DaskRows"]
