"""
Numbers and categories: a kernel for each column
================================================

Prices of flats by area, age, floor, district and heating: some columns are numbers, others words.
The usual way is one column of 0 and 1 for each word and one Gaussian kernel of everything. By
:class:`~resolvent.kernels.ColumnKernel` each column has a kernel of its own, straight from the
data frame, and sums and products of them say what is known of the table.

The table is simulated, with noise of 8%, so that the best possible error is known. All models are
chosen by the same five folds of the rows that they learn from, and judged on other rows.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from resolvent import KernelRegressorCV
from resolvent.kernels import RBF, ColumnKernel, Constant, Overlap

rng = np.random.default_rng(0)
DISTRICTS = np.array([f"district {i:02d}" for i in range(1, 21)])
LEVEL = rng.lognormal(8.2, 0.35, len(DISTRICTS))  # price of a square metre
NOISE = 0.08


def flats(n):
    """Draw flats, their prices, and what the prices would be without noise."""
    frame = pd.DataFrame(
        {
            "area": rng.gamma(6.0, 13.0, n) + 20,
            "age": rng.uniform(0, 110, n),
            "floor": rng.integers(0, 8, n),
            "district": rng.choice(DISTRICTS, n, p=rng.dirichlet(np.full(len(DISTRICTS), 3.0))),
            "heating": rng.choice(["gas", "oil", "heat pump"], n, p=[0.5, 0.3, 0.2]),
        }
    )
    level = LEVEL[np.searchsorted(DISTRICTS, frame["district"])]
    age = 1 - 0.006 * frame["age"] + 0.25 * (frame["age"] > 90)  # the oldest are worth more again
    heating = frame["heating"].map({"gas": 0.0, "oil": -6e3, "heat pump": 1.5e4})
    mean = level * age * frame["area"] ** 0.95 + 3e3 * frame["floor"] + heating
    return frame, mean * (1 + NOISE * rng.standard_normal(n)), mean


# %%
# One-hot columns and one Gaussian kernel, gamma and C chosen.

NUMBERS, CS = ["area", "age", "floor"], np.geomspace(0.01, 1e6, 9)


def one_hot():
    """Scaled numbers and one column for each word, one kernel."""
    encode = make_column_transformer(
        (StandardScaler(), NUMBERS),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["district", "heating"]),
    )
    return make_pipeline(encode, KernelRegressorCV(Cs=CS, gammas=np.geomspace(1e-4, 1, 9)))


# %%
# Kernels of columns that know as little: a Gaussian kernel of the numbers, times one of the
# district, in which ``Constant`` is what all districts have in common, plus one of the heating.


def products():
    """Everything may depend on the district."""
    heating = 0.1 * ColumnKernel("heating", Overlap())
    kernels = [
        ColumnKernel(NUMBERS, RBF(gamma)) * ColumnKernel("district", Constant(1.0) + Overlap())
        + heating
        for gamma in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
    ]
    return KernelRegressorCV(Cs=CS, gammas=kernels)


# %%
# And what anybody knows of flats: the price is that of a square metre times the area, the price of
# a square metre depends on age and district, floor and heating cost what they cost anywhere.


def structured():
    """Area times a function of age and district, plus floor, plus heating."""
    elsewhere = 0.1 * ColumnKernel("floor", "linear") + 0.1 * ColumnKernel("heating", Overlap())
    kernels = [
        ColumnKernel("area", "linear")
        * ColumnKernel("age", RBF(gamma))
        * ColumnKernel("district", Constant(1.0) + Overlap())
        + elsewhere
        for gamma in (0.03, 0.1, 0.3, 1.0, 3.0)
    ]
    return KernelRegressorCV(Cs=CS, gammas=kernels)


# %%
# Mean absolute error on 1,000 other flats, of three draws each.

SIZES, REPETITIONS = [150, 300], 3
MODELS = {
    "one-hot, RBF": one_hot,
    "columns, product": products,
    "columns, price of a square metre": structured,
}
errors = {name: np.empty((len(SIZES), REPETITIONS)) for name in (*MODELS, "without noise")}
for i, size in enumerate(SIZES):
    for j in range(REPETITIONS):
        train, price, _ = flats(size)
        test, truth, mean = flats(1000)
        for name, make in MODELS.items():
            model = make().fit(train, price)
            errors[name][i, j] = np.abs(model.predict(test) - truth).mean()
        errors["without noise"][i, j] = np.abs(mean - truth).mean()
    for name, of_size in errors.items():
        drawn = of_size[i]
        print(
            f"{size} rows, {name}: {drawn.mean():,.0f} ({drawn.min():,.0f} to {drawn.max():,.0f})"
        )
print("the last model:", model.status_.name, model.best_params_)

# %%
# The product is about as good as one-hot columns, whose Gaussian kernel is a product over columns
# too. What helps is the structure.

fig, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
width = 0.8 / len(errors)
for k, (name, values) in enumerate(errors.items()):
    at = np.arange(len(SIZES)) + (k - 1.5) * width
    middle = values.mean(axis=1)
    reach = np.abs([values.min(axis=1) - middle, values.max(axis=1) - middle])
    ax.bar(at, middle, 0.9 * width, yerr=reach, label=name, color=["0.6", "C0", "C2", "0.85"][k])
ax.set_xticks(range(len(SIZES)), [f"{size} flats to learn from" for size in SIZES])
ax.set_ylabel("mean absolute error")
ax.yaxis.set_major_formatter("{x:,.0f}")
ax.legend(fontsize="small")

if __name__ == "__main__":
    fig.savefig("plot_mixed_table.png", dpi=150)
