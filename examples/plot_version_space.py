r"""
Three centres of version space
==============================

A hyperplane in the space of the samples is a point in the space of the directions w, and a sample is a wall there: on
one side of :math:`y_i\, w \cdot \phi(x_i) = 0` lie all hyperplanes that classify it rightly. What all walls enclose
is *version space*, the set of all hyperplanes that separate the classes ([1]_, section A.2). The support vector machine
is the centre of the largest ball inside, which only the support vectors touch. The centre of mass, close to the *Bayes
point*, and the analytic centre ask all walls. This page remakes figure A.2 of [1]_, computed.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from scipy.spatial import ConvexHull, HalfspaceIntersection

from mercer import SVC, AnalyticCenterMachine, BayesPointMachine
from mercer.kernels import Linear

# %%
# Samples in the plane. With a constant feature for the offset they have three coordinates, so that version space lies
# on a sphere. For the support vector machine the samples are put on the sphere too, by a normalised kernel: its margin
# is then an angle. The other centres are the same for samples of any length.

first = [[-1.6, -1.3], [-0.8, -0.9], [-1.7, -0.3], [-0.7, 0.4], [-1.5, 0.8]]
second = [[-0.2, 1.1], [1.6, -0.4], [1.0, -0.7], [1.9, 0.7], [1.4, 1.3]]
X = np.array([*first, *second])
y = np.repeat([-1, 1], 5)
features = np.column_stack([X, np.ones(len(X))])
normals = y[:, np.newaxis] * features / np.linalg.norm(features, axis=1, keepdims=True)

ball = SVC(kernel=(Linear() + 1).normalized(), C=np.inf, fit_intercept=False).fit(X, y)
mass = BayesPointMachine(kernel="linear", soft_boundary=0.0, method="sampling", n_samples=20_000).fit(X, y)
passed = BayesPointMachine(kernel="linear", soft_boundary=0.0).fit(X, y)
analytic = AnalyticCenterMachine(kernel="linear", soft_boundary=0.0).fit(X, y)


def direction(machine):
    """The weights of the two features and of the constant, of length one."""
    return np.append(machine.coef_[0], machine.intercept_[0])


svm = (np.abs(ball.dual_coef_[0]) / ball.norm_) @ normals[ball.support_]
centres = {
    "support vector machine": (svm, "C0", "o"),
    "Bayes point": (direction(mass), "C3", "*"),
    "analytic centre": (direction(analytic), "C2", "D"),
}
for name, (w, _, _) in centres.items():
    distances = normals @ w
    print(f"{name:24} nearest wall {distances.min():.3f}   mean log distance {np.log(distances).mean():.3f}")
gap = np.arccos(direction(mass) @ direction(passed))
print(f"expectation propagation is {gap:.4f} rad from the billiard (standard error {mass.result_.angle_error:.4f})")

# %%
# The sphere is drawn on the plane that touches it at the Bayes point. Walls are straight lines there, and circles on
# the sphere become ellipses.

middle = direction(mass)
east = np.cross(middle, [0.0, 0.0, 1.0])
east /= np.linalg.norm(east)
frame = np.array([east, np.cross(middle, east)])


def on_the_plane(w):
    """Where the ray through w meets the plane."""
    return w @ frame.T / (w @ middle)[..., np.newaxis]


# w = middle + p @ frame is inside where -normals @ w <= 0.
walls = np.column_stack([-normals @ frame.T, -normals @ middle])
corners = HalfspaceIntersection(walls, np.zeros(2)).intersections
corners = corners[ConvexHull(corners).vertices]

angle = np.linspace(0, 2 * np.pi, 200)[:, np.newaxis]
u = np.cross(svm, [0.0, 0.0, 1.0])
u /= np.linalg.norm(u)
reach = np.arcsin((normals @ svm).min())
cap = np.cos(reach) * svm + np.sin(reach) * (np.cos(angle) * u + np.sin(angle) * np.cross(svm, u))

# %%
# On the left, the share of all separating lines that votes for the second class at every point of the plane, by many
# points of version space, and the lines of the three centres. On the right, the three centres themselves.

rng = np.random.default_rng(0)
many = rng.normal(size=(400_000, 3))
many = many[(many @ normals.T > 0).all(axis=1)]
x1, x2 = np.meshgrid(np.linspace(-2.4, 2.2, 200), np.linspace(-2, 2, 180))
points = np.column_stack([x1.ravel(), x2.ravel(), np.ones(x1.size)])
votes = np.mean(points @ many[:1500].T > 0, axis=1).reshape(x1.shape)

soft = LinearSegmentedColormap.from_list("soft", ["#f6cfc3", "#ffffff", "#cfdff2"])
figure, (left, right) = plt.subplots(ncols=2, figsize=(11, 5), layout="constrained")
left.contourf(x1, x2, votes, levels=np.linspace(0, 1, 21), cmap=soft)
left.contour(x1, x2, votes, levels=[0.001, 0.999], colors="0.75", linewidths=0.8)
support = np.isin(np.arange(len(X)), ball.support_)
for label, color, marker in ((-1, "#c0503a", "s"), (1, "#2f6db3", "o")):
    chosen = y == label
    left.scatter(*X[chosen].T, c=color, marker=marker, s=50, edgecolor="white", zorder=3)
left.scatter(*X[support].T, s=170, facecolor="none", edgecolor="black", linewidth=1, zorder=3, label="support vectors")
edge = np.array([-2.0, 2.0])
for w, color, _ in centres.values():
    left.plot(-(w[1] * edge + w[2]) / w[0], edge, color=color, linewidth=2)
left.set(xlim=(-2.4, 2.2), ylim=(-2, 2), title="samples: lines that separate them", xlabel="$x_1$", ylabel="$x_2$")
left.legend(loc="lower right", fontsize=9)

centre, half = 0.5 * (corners.min(axis=0) + corners.max(axis=0)), 0.62 * np.ptp(corners, axis=0).max()
right.fill(*corners.T, color="#f2e9c9", zorder=0)
for normal, is_support in zip(normals, support, strict=True):
    p = normal @ frame.T
    foot, along = -p * (normal @ middle) / (p @ p), np.array([-p[1], p[0]]) / np.linalg.norm(p)
    right.axline(
        foot, foot + along, color="black" if is_support else "0.6", linewidth=1.4 if is_support else 0.8, zorder=1
    )
right.fill(*on_the_plane(cap).T, facecolor="C0", alpha=0.12, edgecolor="C0", linewidth=1.5, zorder=1)
for name, (w, color, marker) in centres.items():
    size = 200 if marker == "*" else 70
    right.scatter(*on_the_plane(w), c=color, marker=marker, s=size, edgecolor="white", zorder=4, label=name)
right.set(xlim=centre[0] + [-half, half], ylim=centre[1] + [-half, half], aspect="equal", xticks=[], yticks=[])
right.set_title("version space: walls are samples")
right.legend(loc="best", fontsize=9)

plt.show()

# %%
# The ball touches three walls, the support vectors, and sits in the wide end of version space. The narrow end counts as
# well: it pulls the centre of mass, and the line turns with it.
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
