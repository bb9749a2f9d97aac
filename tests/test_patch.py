"""The patch: which names it changes, and that it leaves no trace."""

import pickle
import subprocess
import sys
import types

import numpy as np
import pytest
import sklearn.kernel_ridge
import sklearn.svm
from sklearn.datasets import load_iris

import resolvent
from resolvent import svm

SVC = sklearn.svm.SVC  # a module that had imported the name before


def test_names_become_ours_and_go_back():
    theirs = SVC
    earlier = types.ModuleType("earlier")
    earlier.Machine = theirs
    sys.modules["earlier"] = earlier
    try:
        with resolvent.patch_sklearn() as patch:
            assert sklearn.svm.SVC is SVC is earlier.Machine is svm.SVC
            assert sklearn.svm.LinearSVR is svm.LinearSVR
            assert sklearn.kernel_ridge.KernelRidge is resolvent.KernelRidge
            assert {"sklearn.svm.SVC", "sklearn.kernel_ridge.KernelRidge"} <= set(patch.names)
            resolvent.patch_sklearn()  # once more changes nothing
            assert sklearn.svm._classes.SVC is theirs  # where pickles look for it
        assert sklearn.svm.SVC is SVC is earlier.Machine is theirs
        assert sklearn.kernel_ridge.KernelRidge.__module__ == "sklearn.kernel_ridge"
    finally:
        del sys.modules["earlier"]


def test_pickles_load_without_the_patch():
    X, y = load_iris(return_X_y=True)
    with resolvent.patch_sklearn():
        saved = pickle.dumps(sklearn.svm.SVC().fit(X, y))
    model = pickle.loads(saved)
    assert type(model) is svm.SVC
    assert isinstance(model, sklearn.svm.SVC)
    np.testing.assert_array_equal(model.predict(X), svm.SVC().fit(X, y).predict(X))


def test_script_finds_modules_beside_it(tmp_path):
    (tmp_path / "machine.py").write_text("from sklearn.svm import SVC\n")
    script = tmp_path / "script.py"
    script.write_text("from machine import SVC\nprint(SVC.__module__)\n")
    command = [sys.executable, "-m", "resolvent.patch", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "resolvent.estimators.svm"


def test_no_script():
    command = [sys.executable, "-m", "resolvent.patch", "nowhere.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.strip() == "There is no script 'nowhere.py'."


@pytest.mark.parametrize("arguments", [[], ["one", "two"]])
def test_script_is_run_with_its_arguments(tmp_path, arguments):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nfrom sklearn.svm import SVC\n"
        "if __name__ == '__main__':\n    print(SVC.__module__, sys.argv[1:])\n"
    )
    command = [sys.executable, "-m", "resolvent.patch", str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == f"resolvent.estimators.svm {arguments}"
    assert "sklearn.svm.SVC" in done.stderr
