"""Drop-in support vector machines: scikit-learn's names, with a duality gap on every fit."""

from resolvent.estimators.svm import SVC, SVR, LinearSVC, LinearSVR

__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR"]
