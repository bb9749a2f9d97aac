"""
Choosing gamma and C
====================

What users wait for is not one fit but the search for its parameters. `KernelClassifierCV` tries all
pairs of gamma and C by cross-validation. It forms one kernel matrix for each gamma and shares it
among all folds and all values of C, follows the solutions along C, and reads held-out scores off
training itself. The winner is fitted on all samples to the full tolerance.
"""

# %%
# Two interleaved spirals.

import matplotlib.pyplot as plt
import numpy as np

from resolvent import KernelClassifierCV
from resolvent.plotting import ValidationHeatmapDisplay

rng = np.random.default_rng(0)
t = 3 * np.pi * np.sqrt(rng.uniform(0.05, 1, 400))
y = rng.integers(0, 2, 400)
angle = t + np.pi * y
X = np.column_stack([t * np.cos(angle), t * np.sin(angle)]) / 6 + rng.normal(0, 0.12, (400, 2))

# %%
# A search of 8 x 8 pairs in 5 folds, and the simplest pair within one standard error of the best.

model = KernelClassifierCV(Cs=8, gammas=8).fit(X, y)
simple = KernelClassifierCV(Cs=8, gammas=8, rule="one_standard_error").fit(X, y)
print("status:", model.best_estimator_.status_, "- gap:", model.best_estimator_.dual_gap_)
print("best:", model.best_params_, "- held-out accuracy:", model.best_score_)
print("within one standard error:", simple.best_params_, "-", simple.best_score_)

# %%
# The map of scores, and the boundary that comes of the chosen pair.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
ValidationHeatmapDisplay.from_estimator(model, ax=left)
left.set_title(f"Held-out accuracy: {model.best_score_:.1%} at the star")
grid = np.linspace(-2, 2, 150)
mesh = np.stack(np.meshgrid(grid, grid), axis=-1)
decision = model.decision_function(mesh.reshape(-1, 2)).reshape(150, 150)
right.contourf(
    grid, grid, decision, levels=[-99, 0, 99], colors=["tab:blue", "tab:orange"], alpha=0.3
)
right.scatter(*X.T, c=np.where(y == 1, "tab:orange", "tab:blue"), s=8)
right.set(title=f"{len(model.best_estimator_.support_)} support vectors", aspect="equal")

# %%
# Run as a script, it saves the picture.

if __name__ == "__main__":
    figure.savefig("plot_model_selection.png", dpi=120)
    print("Picture: plot_model_selection.png")
