r"""
A line in another space
=======================

Two classes that no line separates may be separable after a map to other features, and a kernel is the inner product
after the map, without the map. This page draws the slide *Non-linear support vector machines* of [3]_, figure 1.3 of
[1]_, 1.12 of [2]_ and 10.8 of [4]_, and follows the same data through both spaces.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer import SVC
from mercer.datasets import make_ellipse, make_rings
from mercer.errors import NotSeparableError
from mercer.kernels import RBF, Linear, Polynomial
from mercer.plots import DecisionDisplay

# %%
# The map
# -------
#
# One class lies around the other. In the plane nothing can be done: the machine with a hard margin says so. The map
# :math:`\phi(x) = (x_1^2, x_2^2, \sqrt2\, x_1 x_2)` lifts the samples onto a cone in space, and there a plane separates
# them. Seen from the samples, the plane is an ellipse.

X, y = make_rings(80, noise=0.15, random_state=1)


def phi(points):
    first, second = np.transpose(points)
    return np.column_stack([first**2, second**2, np.sqrt(2) * first * second])


try:
    SVC(kernel="linear", C=np.inf).fit(X, y)
except NotSeparableError:
    print("no line separates the classes")
lifted = SVC(kernel="linear", C=np.inf).fit(phi(X), y)
print(f"margin in space: {lifted.margin_:.3f}, with {len(lifted.support_)} support vectors")

figure = plt.figure(figsize=(12, 4.4), layout="constrained")
left, right = figure.add_subplot(1, 3, 1), figure.add_subplot(1, 3, 3)
space = figure.add_subplot(1, 3, 2, projection="3d", azim=-50, elev=14)
colours = np.where(y == 1, "C1", "C0")
left.scatter(*X.T, c=colours, s=25, edgecolors="white", linewidths=0.5)
left.set(title="in the plane", xlabel="$x_1$", ylabel="$x_2$", aspect="equal")
space.scatter(*phi(X).T, c=colours, s=25, depthshade=False, edgecolors="white", linewidths=0.5)
(a, b, c), offset = lifted.coef_[0], lifted.intercept_[0]
u, v = np.meshgrid([0, 3.4], [-4, 4])
space.plot_surface(u, -(offset + a * u + c * v) / b, v, alpha=0.3, color="black")
space.set(title=r"lifted, upwards $\sqrt{2}\, x_1 x_2$", xlabel="$x_1^2$", ylabel="$x_2^2$")
space.set(xlim=(0, 6), ylim=(0, 6), zlim=(-4, 4))
space.set(xticks=[0, 2, 4, 6], yticks=[0, 2, 4, 6])
space.set_box_aspect(None, zoom=0.82)
squared = SVC(kernel=Polynomial(degree=2, gamma=1.0, coef0=0.0), C=np.inf).fit(X, y)
DecisionDisplay.from_estimator(squared, X, y, ax=right)
right.set(title="the plane, seen from the samples", xlabel="$x_1$", aspect="equal")
plt.show()

# %%
# The kernel
# ----------
#
# :math:`\phi(x) \cdot \phi(x') = (x \cdot x')^2`: the polynomial kernel of degree two has the same inner products, and
# the machine that knows the kernel alone is the same, up to rounding. The picture on the right above is drawn from it.

difference = np.abs(squared.kernel_(X) - phi(X) @ phi(X).T).max()
decisions = np.abs(squared.decision_function(X) - lifted.decision_function(phi(X))).max()
print(f"largest difference of inner products {difference:.1e}, of decision values {decisions:.1e}")

# %%
# An ellipse
# ----------
#
# Figure 10.8 of [4]_ has the border :math:`8 (x_1 - 1)^2 + 50 (x_2 - 2)^2 = 1`. It is linear in :math:`z = (x_1^2, x_1,
# x_2^2, x_2)`, with the weights :math:`8, -16, 50, -200` and the offset 207. Do machines find it? The map to z has the
# kernel :math:`x \cdot x' + x^2 \cdot x'^2` with squares taken feature by feature (eq. 10.64); the kernel
# :math:`(0.5 + x \cdot x')^2` knows the product :math:`x_1 x_2` besides (eq. 10.65), which is not needed here. The
# samples are shifted to the middle, which the quadric does not mind, and the numbers do: far from the origin all
# squares are nearly the same. The weights below are those of z, shifted back and divided so that the first is 8.

X, y = make_ellipse(400, gap=0.1, random_state=0)
centre = np.array([1.0, 2.0])
Z = X - centre
explicit = SVC(kernel="linear", C=np.inf).fit(np.column_stack([Z**2, Z]), y)
squares, linear = explicit.coef_[0].reshape(2, 2)
weights = np.array([squares, linear - 2 * squares * centre]).T.ravel()
offset = explicit.intercept_[0] + squares @ centre**2 - linear @ centre
scale = 8 / squares[0]
print("weights found", *(f"{weight * scale:.1f}" for weight in weights), "offset", f"{offset * scale:.1f}")
print("of the border 8.0 -16.0 50.0 -200.0 offset 207.0")

machines = {
    "linear kernel": SVC(Linear(), C=1.0),
    r"$(0.5 + x \cdot x')^2$": SVC(Polynomial(degree=2, gamma=1.0, coef0=0.5), C=np.inf),
    "Gaussian kernel": SVC(RBF(gamma=20.0), C=np.inf),
}
new, new_y = make_ellipse(10_000, random_state=1)
figure, axes = plt.subplots(ncols=3, figsize=(12, 3.8), sharey=True, layout="constrained")
angle = np.linspace(0, 2 * np.pi, 200)
for ax, (name, machine) in zip(axes, machines.items(), strict=True):
    machine.fit(Z, y)
    score = machine.score(new - centre, new_y)
    print(f"{name:24} right about {score:.1%} of new samples, {len(machine.support_)} support vectors of {len(y)}")
    DecisionDisplay.from_estimator(machine, Z, y, ax=ax)
    ax.plot(np.cos(angle) / np.sqrt(8), np.sin(angle) / np.sqrt(50), color="C3", linewidth=1.5)
    ax.set(title=f"{name}: {score:.1%}", xlabel="$x_1 - 1$")
axes[0].set_ylabel("$x_2 - 2$")
plt.show()

# %%
# The red line is the border. The machine with the quadric finds it from 400 samples nearly as it is. The Gaussian
# kernel knows nothing of ellipses, and comes close. A line can do no better than to cut through both classes.
#
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
# .. [2] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, in Kernel Methods in Computational Biology,
#    2004.
# .. [3] L. Wehenkel, P. Geurts, Support vector machines and kernel-based methods, lecture, University of Liège, 2020.
# .. [4] C. C. Aggarwal, Data Mining: The Textbook, 2015, section 10.6.
