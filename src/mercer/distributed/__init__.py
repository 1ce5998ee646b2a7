"""Samples on many machines: Dask collections."""

from mercer.distributed.cascade import Cascade
from mercer.distributed.gram import DaskGram
from mercer.distributed.landmark_matrix import DaskLandmarkMatrix
from mercer.distributed.rows import DaskRows

__all__ = ["Cascade", "DaskGram", "DaskLandmarkMatrix", "DaskRows"]
