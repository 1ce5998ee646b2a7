"""A cluster of processes on this machine."""

import pytest


@pytest.fixture(scope="module")
def client():
    """Two workers of one thread each."""
    pytest.importorskip("dask.array", reason="needs dask: pip install 'mercer[dask]'")
    distributed = pytest.importorskip("distributed", reason="needs distributed: pip install 'mercer[dask]'")
    known = {"n_workers": 2, "processes": True, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(memory_limit="512MiB", **known) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
