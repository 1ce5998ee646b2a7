r"""
Kernel principal components: strings in a plane, digits without noise
=====================================================================

A kernel is all that principal component analysis needs. Samples need not be vectors, and what is found need not be
straight: directions in feature space are curved functions of the samples.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from mercer import KernelPCA
from mercer.datasets import load_splice
from mercer.kernels import RBF, Spectrum, WeightedDegree
from mercer.plots import KernelPCADisplay

# %%
# Strings in a plane
# ------------------
#
# Figure 1.6 of [2]_ shows 74 sequences of transfer RNA, whose three classes come apart in the plane of two principal
# components. Here are more sequences, and two kernels.
#
# Pieces of DNA, 60 letters each: an intron ends in the middle (acceptor), or begins there (donor), or neither. The
# weighted degree kernel compares words at the same place of two strings, the spectrum kernel words wherever they are.
# No direction has seen the classes: they are the colours only. What is at a fixed place tells them apart; how often
# words occur does not.

splice = load_splice()
strings, kind = splice.data, splice.target
figure, panels = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
kernels = {"words at the same place": WeightedDegree(5), "words anywhere": Spectrum(3)}
for panel, (name, kernel) in zip(panels, kernels.items(), strict=True):
    machine = KernelPCA(kernel.normalized(), n_components=2)
    machine.fit(strings)
    KernelPCADisplay.from_estimator(machine, strings, kind, names=splice.target_names, s=8, alpha=0.5, ax=panel)
    panel.set_title(name)
    result = machine.result_
    print(f"{name}: {result.n_iter} products with a matrix of {len(strings)} rows, residuals {result.violation:.0e}")
panels[1].get_legend().remove()

# %%
# Digits without noise
# --------------------
#
# Images of digits, and noise on those that the machine has not seen. Its leading directions are what digits vary by,
# and noise has next to no part in them. The projection onto them is a point of feature space; the image that comes
# nearest to it, its pre-image, is found by a fixed point iteration [1]_. Linear principal components, with the best
# number of them, remove less: digits do not lie in a plane.

images, _ = load_digits(return_X_y=True)
images = images / 16
known, new = images[:1500], images[1500:]
noisy = new + 0.3 * np.random.default_rng(0).normal(size=new.shape)

machine = KernelPCA(RBF(gamma=0.1), n_components=64).fit(known)
linear = PCA(16).fit(known)
rows = {
    "as they were": new,
    "with noise": noisy,
    "linear, 16 components": linear.inverse_transform(linear.transform(noisy)),
    "kernel, 64 components": machine.inverse_transform(machine.transform(noisy)),
}
figure, panels = plt.subplots(len(rows), 12, figsize=(10, 4.2), layout="constrained")
for (name, pixels), line in zip(rows.items(), panels, strict=True):
    error = np.sqrt(np.mean((pixels - new) ** 2))
    print(f"{name:22} error {error:.3f}")
    for image, panel in zip(pixels, line, strict=False):
        panel.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
        panel.set(xticks=[], yticks=[])
    line[0].set_ylabel(f"{name}\nerror {error:.2f}", rotation=0, ha="right", va="center")

plt.show()

# %%
# .. rubric:: References
#
# .. [1] S. Mika et al., Kernel PCA and de-noising in feature spaces, 1998.
# .. [2] J.-P. Vert, K. Tsuda, B. Schölkopf, A primer on kernel methods, in Kernel Methods in Computational Biology,
#    2004.
