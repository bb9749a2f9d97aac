"""Put the estimators of this library in the place of scikit-learn's, for code that names those.

From a shell, for a script that is left as it is::

    python -m resolvent.patch script.py arguments ...
"""

from __future__ import annotations

import importlib
import runpy
import sys
from functools import cache
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

__all__ = ["Patch", "patch_sklearn", "unpatch_sklearn"]

# Modules of this library, each with the public one of scikit-learn that has the same names, and the
# one that defines them, where pickles of scikit-learn's look for its classes.
_COUNTERPARTS = [
    ("resolvent.svm", "sklearn.svm", "sklearn.svm._classes"),
    ("resolvent.estimators.ridge", "sklearn.kernel_ridge", ""),
]

# What is replaced at present: the module, the name in it, and the class of scikit-learn.
_replaced: list[tuple[ModuleType, str, Any]] = []


class Patch:
    """The classes that `patch_sklearn` replaced; leaving its context restores them.

    Attributes
    ----------
    names : list of str
        The public names of scikit-learn that stand for classes of this library.
    """

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __enter__(self) -> Patch:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        unpatch_sklearn()

    def __repr__(self) -> str:
        return f"Patch({', '.join(self.names)})"


@cache  # of what scikit-learn has before the first patch
def _classes() -> dict[str, tuple[type, type]]:
    """Public names, with scikit-learn's class and the one that takes its place."""
    found = {}
    for ours, theirs, _ in _COUNTERPARTS:
        module, public = importlib.import_module(ours), importlib.import_module(theirs)
        for name in module.__all__:
            found[f"{theirs}.{name}"] = getattr(public, name), getattr(module, name)
    return found


def patch_sklearn() -> Patch:
    """Make scikit-learn's names of support vector machines and of kernel ridge stand for these.

    Modules that have imported the names before are changed too; instances that exist and classes
    that were derived from scikit-learn's are not. What is pickled under the patch names this
    library's classes, and loads without the patch.

    Returns
    -------
    Patch
        Says what is replaced, and restores it if it is used as a context manager.

    Examples
    --------
    >>> import sklearn.svm
    >>> from resolvent import patch_sklearn
    >>> with patch_sklearn() as patch:
    ...     print("sklearn.svm.LinearSVC" in patch.names, sklearn.svm.LinearSVC.__module__)
    True resolvent.estimators.linear_svm
    >>> sklearn.svm.LinearSVC.__module__
    'sklearn.svm._classes'
    """
    classes = _classes()
    kept = {definition for _, _, definition in _COUNTERPARTS}
    replacements = {id(theirs): ours for theirs, ours in classes.values()}
    for module in list(sys.modules.values()):
        if not isinstance(module, ModuleType) or module.__name__ in kept:
            continue
        if module.__name__.startswith("resolvent."):
            continue
        for name, value in list(vars(module).items()):
            if id(value) in replacements:
                setattr(module, name, replacements[id(value)])
                _replaced.append((module, name, value))
    return Patch(sorted(classes))


def unpatch_sklearn() -> None:
    """Undo `patch_sklearn`: every name that it changed stands for scikit-learn's class again."""
    while _replaced:
        module, name, value = _replaced.pop()
        setattr(module, name, value)


def _main() -> None:
    from resolvent.patch import patch_sklearn  # this module, but not as __main__

    if len(sys.argv) < 2:
        sys.exit("usage: python -m resolvent.patch script.py [arguments ...]")
    if not Path(sys.argv[1]).exists():
        sys.exit(f"There is no script {sys.argv[1]!r}.")
    print("resolvent in the place of", ", ".join(patch_sklearn().names), file=sys.stderr)
    del sys.argv[0]
    sys.path[0] = str(Path(sys.argv[0]).resolve().parent)  # as Python has it: for modules beside it
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    _main()
