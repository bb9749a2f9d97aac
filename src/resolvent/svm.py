"""Drop-in support vector machines: scikit-learn's names, with a duality gap on every fit."""

from resolvent.estimators.linear_svm import LinearSVC, LinearSVR
from resolvent.estimators.svm import SVC, SVR

__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR"]
