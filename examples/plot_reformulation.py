"""
A differentiable loss for a kernel that is less positive
========================================================

Theorem 5 of the paper: the solution of a kernel machine whose loss has corners is also a stationary
point of a functional that has none. The price is the kernel matrix K, of which alpha K - I takes
the place. A small `alpha` makes the loss smooth and the kernel indefinite.
"""

# %%
# A support vector machine on 60 points, solved to the limit of rounding.

import matplotlib.pyplot as plt
import numpy as np

from resolvent import Problem, gram, reformulate, solve
from resolvent.losses import EpsilonInsensitive, as_loss, envelope

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 2))
y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(60) > 0, 1.0, -1.0)
K = gram(X, kernel="rbf", gamma=1.0)
solution = solve("hinge", K, y, C=1.0, tol=1e-12)
print(f"{solution.status}: objective {solution.primal:.6f}, gap {solution.gap:.0e}")

# %%
# Whatever alpha is, the gradient of the reformulated functional is zero there. The spectrum of its
# kernel matrix is that of K, times alpha, minus one.

alphas = (0.2, 1.0, 5.0)
spectra = {}
for alpha in alphas:
    smooth = reformulate(Problem("hinge", K, y, C=1.0), alpha)
    spectra[alpha] = np.linalg.eigvalsh(smooth.kernel())[::-1]
    gradient = np.abs(smooth.gradient(solution.coef)).max()
    negative = (spectra[alpha] < 0).sum()
    print(f"alpha {alpha:<4} gradient {gradient:.0e}   negative eigenvalues {negative} of 60")

# %%
# The equivalent differentiable loss is alpha L_alpha(v / alpha), with L_alpha the Moreau-Yosida
# regularization; divided by alpha and drawn against v / alpha it can be compared with the loss.

losses = {
    "hinge, y = 1": (as_loss("hinge"), 1.0, np.linspace(-2.5, 2.5, 401)),
    "absolute, y = 0": (as_loss("absolute"), 0.0, np.linspace(-2.5, 2.5, 401)),
    "epsilon-insensitive, y = 0": (EpsilonInsensitive(0.5), 0.0, np.linspace(-2.5, 2.5, 401)),
}
colours = dict(zip(alphas, ("tab:red", "tab:orange", "tab:green"), strict=True))
figure, axes = plt.subplots(1, 4, figsize=(14, 3.8), layout="constrained")
for axis, (title, (loss, target, z)) in zip(axes, losses.items(), strict=False):
    axis.plot(z, [loss.value(target, t) for t in z], color="black", lw=1.5, label="the loss")
    for alpha, colour in colours.items():
        values = [envelope(loss, alpha).value(target, t) for t in z]
        axis.plot(z, values, color=colour, lw=2, label=f"alpha = {alpha:g}")
    axis.set(title=title, xlabel="score", ylim=(-0.1, 3.0))
axes[0].set_ylabel("loss")
axes[0].legend(fontsize=9)
for alpha, colour in colours.items():
    axes[3].plot(np.arange(1, 61), spectra[alpha], ".-", color=colour, ms=4)
axes[3].axhline(0.0, color="black", lw=1)
axes[3].set_yscale("symlog", linthresh=1.0)
axes[3].set(title="eigenvalues of alpha K - I", xlabel="number")

# %%
# Run as a script, it saves the picture.

if __name__ == "__main__":
    figure.savefig("plot_reformulation.png", dpi=120)
    print("Picture: plot_reformulation.png")
