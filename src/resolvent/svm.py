"""Drop-in support vector machines: scikit-learn's names, with a duality gap on every fit."""

import sklearn.svm as _theirs

from resolvent.estimators.linear_svm import LinearSVC, LinearSVR
from resolvent.estimators.nu import NuSVC, NuSVR
from resolvent.estimators.one_class import OneClassSVM
from resolvent.estimators.svm import SVC, SVR

__all__ = ["SVC", "SVR", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "OneClassSVM"]

# For code that asks isinstance(model, sklearn.svm.SVC), where scikit-learn's class allows it.
for _name in __all__:
    _class = getattr(_theirs, _name)
    if hasattr(_class, "register"):
        _class.register(globals()[_name])
