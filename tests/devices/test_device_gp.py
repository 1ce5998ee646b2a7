"""Gaussian processes and components on a device are those found natively."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.errors import IndefiniteError
from mercer.gp.base import Prior
from mercer.gp.evidence import RegressionEvidence
from mercer.gp.on_device import DeviceEvidence, DevicePrior
from mercer.kernels import RBF, Constant, Linear, Matern, RationalQuadratic

torch = pytest.importorskip("torch")

PLACE = mercer.devices.Place("cpu")
RNG = np.random.default_rng(2)
X = RNG.normal(size=(90, 2))
Y = np.c_[np.sin(2 * X[:, 0]), X[:, 1] ** 2] + 0.1 * RNG.normal(size=(90, 2))
WEIGHT = np.where(np.arange(90) % 5 == 0, 3.0, 1.0)
KERNELS = {
    "RBF": RBF(gamma=0.7),
    "RBF per feature": RBF(gamma=np.array([0.7, 0.2])),
    "Sum": 0.7 * Matern(length_scale=0.8, nu=1.5) + 0.2 * Linear() + Constant(0.3),
    "RationalQuadratic": RationalQuadratic(length_scale=np.array([0.9, 2.0]), alpha=1.3),
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_evidence_and_its_slopes_are_those_of_lapack(name):
    kernel = KERNELS[name]
    values = {"amplitude": 1.7, "noise": 0.04}
    values |= {f"kernel__{key}": kernel.get_params()[key] for key in kernel.vjp(X[:1], np.zeros((1, 1)))}
    on = DeviceEvidence(DevicePrior(kernel, X, PLACE), Y, WEIGHT)(values)
    native = RegressionEvidence(Prior(kernel, X), Y, WEIGHT)(values)
    assert_allclose(on.log_evidence, native.log_evidence, rtol=1e-12)
    assert on.slopes.keys() == native.slopes.keys()
    for key in native.slopes:
        assert_allclose(on.slopes[key], native.slopes[key], rtol=1e-6, atol=1e-6)
        assert_allclose(on.roots[key], native.roots[key], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("y", [Y, Y[:, 0]], ids=["two outputs", "one"])
def test_the_same_process_is_found(y):
    make = {"kernel": RBF(gamma=[0.5, 0.5]), "normalize_y": True, "tol": 1e-6}
    weight = WEIGHT.copy()
    weight[:3] = 0.0
    on, native = (
        mercer.GaussianProcessRegressor(**make, device=device).fit(X, y, sample_weight=weight)
        for device in ("cpu", None)
    )
    assert on.result_.status == native.result_.status == "local"
    assert_allclose(on.log_marginal_likelihood_, native.log_marginal_likelihood_, rtol=1e-8)
    assert_allclose(on.kernel_.gamma, native.kernel_.gamma, rtol=1e-3)
    new = RNG.normal(size=(15, 2))
    for options in ({}, {"return_std": True}, {"return_cov": True}, {"return_std": True, "include_noise": True}):
        found, wanted = on.predict(new, **options), native.predict(new, **options)
        tensors = on.predict(torch.from_numpy(new), **options)
        if options:
            assert_allclose(found[0], wanted[0], atol=1e-3)
            assert_allclose(found[1], wanted[1], atol=1e-3)
            assert all(isinstance(part, torch.Tensor) for part in tensors)
            assert_allclose(tensors[1].numpy(), found[1], atol=1e-9)
        else:
            assert_allclose(found, wanted, atol=1e-3)
            assert isinstance(tensors, torch.Tensor)
    for found, wanted in zip(on.leave_one_out(), native.leave_one_out(), strict=True):
        assert_allclose(found, wanted, atol=1e-3)


def test_a_fixed_kernel_is_computed_once(monkeypatch):
    prior = DevicePrior(RBF(gamma=0.7), X, PLACE)
    prior.fix()
    first = prior.matrix({})
    first.mul_(3.0)
    assert_allclose(prior.matrix({}).numpy(), RBF(gamma=0.7)(X), atol=1e-12)
    machine = mercer.GaussianProcessRegressor(RBF(gamma=0.7), optimize=["noise", "amplitude"], device="cpu").fit(X, Y)
    assert machine.result_.status == "local" and machine.kernel_ == RBF(gamma=0.7)


def test_singular_priors_are_refused():
    twice = np.r_[X, X]
    with pytest.raises(IndefiniteError, match="is not positive definite: the pivot of sample"):
        mercer.GaussianProcessRegressor(RBF(gamma=0.7), noise=0.0, device="cpu").fit(twice, np.r_[Y, Y])


def test_processes_with_a_device_are_saved(tmp_path):
    machine = mercer.GaussianProcessRegressor(RBF(gamma=0.7), optimize=False, device="cpu").fit(X, Y)
    again = mercer.load(mercer.save(machine, tmp_path / "process"))
    for found, wanted in zip(again.predict(X, return_std=True), machine.predict(X, return_std=True), strict=True):
        assert (found == wanted).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("eigen_solver", ["lanczos", "dense"])
def test_components_are_those_of_native_products(weighted, eigen_solver):
    samples = RNG.normal(size=(400, 3)) * [3.0, 2.0, 1.0]
    weight = RNG.integers(0, 3, size=400).astype(float) if weighted else None
    on, native = (
        mercer.KernelPCA(RBF(gamma=0.05), 4, eigen_solver=eigen_solver, device=device).fit(
            samples, sample_weight=weight
        )
        for device in ("cpu", None)
    )
    assert on.result_.status == "solved" and on.result_.method == eigen_solver
    assert_allclose(on.eigenvalues_, native.eigenvalues_, rtol=1e-9)
    assert_allclose(on.explained_variance_ratio_, native.explained_variance_ratio_, rtol=1e-9)
    found = on.transform(samples[:30])
    assert_allclose(found, native.transform(samples[:30]), atol=1e-6)
    assert_allclose(on.transform(torch.from_numpy(samples[:30])).numpy(), found, atol=1e-9)
