"""
A kernel on strings
===================

A kernel is any function that compares two samples, and samples can be anything. Here they are
strings, compared by the short pieces that they share (the spectrum kernel), and `pairwise` turns
the function of two strings into a kernel for `KernelClassifier`. There are no features anywhere.
"""

# %%
# The kernel: the cosine of the angle between the counts of all pieces of three letters.

import math
from collections import Counter
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from resolvent import KernelClassifier
from resolvent.kernels import pairwise


@cache
def spectrum(text, length=3):
    """Counts of the pieces of a string, divided by their norm."""
    counts = Counter(text[i : i + length] for i in range(len(text) - length + 1))
    norm = math.sqrt(sum(n * n for n in counts.values()))
    return {piece: n / norm for piece, n in counts.items()}


def similarity(a, b):
    p, q = spectrum(a), spectrum(b)
    return sum(n * q.get(piece, 0.0) for piece, n in p.items())


# %%
# Made-up DNA: random strings of equal composition, in one class with a few copies of a motif, each
# with a spelling mistake now and then.

rng = np.random.default_rng(0)


def sequence(has_motif):
    letters = rng.choice(list("ACGT"), 80)
    for start in (5, 30, 55) if has_motif else ():
        start += rng.integers(0, 15)
        letters[start : start + 7] = list("TATAAAT")
        if rng.random() < 0.5:
            letters[start + rng.integers(0, 7)] = rng.choice(list("ACGT"))
    return "".join(letters)


labels = np.array(["motif", "none"])[rng.integers(0, 2, 240)]
strings = [sequence(label == "motif") for label in labels]
train, test, y_train, y_test = train_test_split(strings, labels, test_size=0.4, random_state=0)

# %%
# The strings go into `fit` and `predict` as they are; the logistic loss gives probabilities.

model = KernelClassifier(loss="logistic", kernel=pairwise(similarity), C=10.0)
model.fit(train, y_train)
accuracy = model.score(test, y_test)
print(f"accuracy on {len(test)} new strings: {accuracy:.0%}")
print("status:", model.status_, "- relative gap:", model.dual_gap_ / model.objective_)

# %%
# Left, the kernel matrix of the training strings, sorted by class; right, the probabilities of the
# new ones.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
ordered = [train[i] for i in np.argsort(y_train, kind="stable")]
K = pairwise(similarity)(ordered, ordered)
np.fill_diagonal(K, np.nan)
shown = left.imshow(K, cmap="Blues")
figure.colorbar(shown, ax=left, label="similarity")
first = np.sum(y_train == "motif")
left.set_xticks([first / 2, (first + len(train)) / 2], ["motif", "none"])
left.set_yticks([first / 2, (first + len(train)) / 2], ["motif", "none"])
left.set_title("Kernel matrix")
p = model.predict_proba(test)[:, list(model.classes_).index("motif")]
bins = np.linspace(0, 1, 21)
for label, colour in (("motif", "tab:blue"), ("none", "tab:orange")):
    right.hist(p[y_test == label], bins, color=colour, alpha=0.6, label=label)
right.set(xlabel="probability of the motif", ylabel="new strings")
right.set_title(f"Predictions: {accuracy:.0%} are right")
right.legend()

# %%
# Run as a script, it saves the picture.

if __name__ == "__main__":
    figure.savefig("plot_string_kernel.png", dpi=120)
    print("Picture: plot_string_kernel.png")
