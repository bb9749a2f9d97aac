"""Wrong input: the message names the argument and its value, and says what would be right."""

from __future__ import annotations

import numpy as np
import pytest
from answers import SIGNS, data
from scipy import sparse

from resolvent import KernelClassifier, KernelClassifierCV, Problem, solve
from resolvent.kernels import RBF


@pytest.mark.parametrize("loss", SIGNS)
@pytest.mark.parametrize("y", [[0, 1, 1], [1, 2, 2], [True, False, True]])
def test_labels_other_than_plus_and_minus_one(loss, y):
    with pytest.raises(ValueError, match=r"y must be -1 or \+1.*found the values"):
        solve(loss, np.eye(3), y)


def test_labels_that_are_strings():
    with pytest.raises(TypeError, match="y must be numbers; got"):
        solve("hinge", np.eye(2), ["cat", "dog"])


def test_negative_counts():
    with pytest.raises(ValueError, match=r"y must be >= 0.*Poisson.*-1"):
        solve("poisson", np.eye(2), [1.0, -1.0])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"tol": -1}, r"tol=-1 must be a number, at least 0"),
        ({"tol": "a"}, r"tol='a' must be a number"),
        ({"tol": np.nan}, r"tol=nan must be a number"),
        ({"tol": np.inf}, r"tol=inf must be"),
        ({"tol": None}, r"tol=None must be a number"),
        ({"tol": 0, "stop": "step"}, r"tol=0 with stop='step'.*positive tol"),
        ({"max_iter": 0}, r"max_iter=0 must be a whole number, at least 1"),
        ({"max_iter": 1.5}, r"max_iter=1.5 must be a whole number"),
        ({"max_iter": -3}, r"max_iter=-3 must be"),
        ({"max_iter": "many"}, r"max_iter='many' must be"),
        ({"max_iter": True}, r"max_iter=True must be"),
        ({"max_iter": np.inf}, r"max_iter=inf must be"),
        ({"time_limit": -1}, r"time_limit=-1 must be"),
        ({"time_limit": np.nan}, r"time_limit=nan must be"),
        ({"C": 0}, r"C=0 must be positive"),
        ({"C": -1}, r"C=-1 must be positive"),
        ({"C": np.inf}, r"C contains NaN or infinity"),
        ({"C": np.ones(5)}, r"C has shape \(5,\).*\(20,\)"),
        ({"C": "strong"}, r"C must be numbers; got 'strong'"),
        ({"sample_weight": np.full(20, np.nan)}, r"sample_weight contains NaN"),
        ({"sample_weight": np.zeros(20)}, r"(?i)all weights.*zero"),
        ({"sample_weight": -np.ones(20)}, r"sample_weight has a negative value \(-1\)"),
        ({"sample_weight": np.ones(19)}, r"sample_weight has shape \(19,\).*\(20,\)"),
        ({"sample_weight": np.full(20, 1e300), "C": 1e300}, r"overflows; scale"),
        ({"solver": "sgd"}, r"solver='sgd' is unknown; choose one of auto, coordinate"),
        ({"solver": None}, r"solver=None is unknown"),
        ({"solver": ["auto"]}, r"solver=\['auto'\] is unknown"),
        ({"stop": "never"}, r"stop='never' is unknown; choose one of gap, step"),
        ({"on_interrupt": "ignore"}, r"on_interrupt='ignore' is unknown"),
        ({"rule": "best"}, r"rule='best' is unknown; choose one of permuted"),
        ({"rule": np.arange(19)}, r"essentially cyclic.*leaves out 1 of 20.*being 19"),
        ({"rule": np.arange(21)}, r"indices outside 0..19"),
        ({"rule": [0.5]}, r"rule must give a one-dimensional array of indices"),
        ({"rule": lambda sweep: [0, 1]}, r"leaves out 18 of 20"),
        ({"rule": None}, r"rule"),
        ({"solver": "fixed_point", "alpha": "big"}, r"alpha='big' is unknown"),
        ({"solver": "fixed_point", "alpha": 0.0}, r"alpha=0.0 must be positive"),
        ({"solver": "fixed_point", "alpha": -1.0}, r"alpha=-1.0 must be positive"),
        ({"solver": "fixed_point", "alpha": np.nan}, r"alpha=nan must be positive and finite"),
        ({"solver": "fixed_point", "alpha": 1e3}, r"alpha is too large.*alpha='spectral'"),
        ({"solver": "fixed_point", "alpha": np.ones(3)}, r"alpha=.*vector of length 20"),
        ({"start": np.zeros(3)}, r"(start|coef) has shape \(3,\).*\(20,\)"),
        ({"start": "here"}, r"(start|coef) must be numbers"),
        ({"random_state": "seed"}, r"random_state"),
        ({"callback": 3}, r"callback=3"),
    ],
    ids=lambda value: ", ".join(value) if isinstance(value, dict) else "",
)
def test_wrong_arguments(arguments, sentence):
    X, y = data()
    with pytest.raises((ValueError, TypeError), match=sentence):
        solve("hinge", RBF()(X), y, **arguments)


@pytest.mark.parametrize("search", [False, True])
def test_estimators_say_that_weights_overflow(search):
    X, y = data()
    model = (
        KernelClassifierCV(Cs=[1e10], gammas=[1.0], cv=2) if search else KernelClassifier(C=1e10)
    )
    with pytest.raises(ValueError, match="C times sample_weight overflows; scale them down"):
        model.fit(X, y, np.full(20, 1e300))


def test_wrong_shapes():
    X, y = data()
    K = RBF()(X)
    with pytest.raises(ValueError, match=r"y has shape \(19,\).*20 rows"):
        solve("hinge", K, y[:19])
    with pytest.raises(ValueError, match=r"y has shape \(20, 1, 1\)"):
        solve("hinge", K, y[:, None, None])
    with pytest.raises(ValueError, match=r"K has shape \(20, 3\).*square"):
        solve("hinge", X, y)
    with pytest.raises(ValueError, match=r"K has shape \(0, 0\)"):
        solve("hinge", np.empty((0, 0)), [])
    with pytest.raises(TypeError, match=r"sparse.*toarray"):
        solve("hinge", sparse.eye(20, format="csr"), y)
    with pytest.raises(ValueError, match=r"C has shape \(20,\).*\(2,\)"):
        solve("hinge", K, np.stack([y, y], axis=1), np.ones(20))
    with pytest.raises(ValueError, match=r"y has shape|columns"):
        solve("hinge", K, np.empty((20, 0)))
    with pytest.raises(ValueError, match=r"coef has shape \(20, 1\)"):
        Problem("hinge", K, y).gap(np.zeros((20, 1)))


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        ("hinges", r"loss='hinges' is unknown; choose one of squared,"),
        (3, r"loss=3 is not a loss"),
        (None, r"loss=None is not a loss"),
        (len, r"is not a loss"),
    ],
)
def test_wrong_loss(loss, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        solve(loss, np.eye(2), [1.0, -1.0])
