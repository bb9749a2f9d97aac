"""scikit-learn's own tests of the estimators that have its names, run with this library's."""

from pathlib import Path

import pytest
import sklearn
from sklearn.utils.fixes import parse_version

import resolvent

HERE = Path(__file__).parent

# The list of exceptions is for these versions; older ones have other tests.
if parse_version(sklearn.__version__) < parse_version("1.9"):
    collect_ignore_glob = ["test_dropin_*.py"]


def exceptions():
    """Tests that cannot apply, with the reason: lines of ``file::test reason``."""
    lines = (HERE / "not_applicable.txt").read_text().splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line and not line.startswith("#"))


def pytest_configure(config):
    config.addinivalue_line("markers", "thread_unsafe: scikit-learn's, of no meaning here")


def pytest_collection_modifyitems(items):
    reasons = exceptions()
    for item in items:
        if item.path.parent != HERE:
            continue
        item.add_marker(pytest.mark.filterwarnings("default"), append=False)
        for name in (item.name, item.originalname):
            reason = reasons.get(f"{item.path.stem.removeprefix('test_dropin_')}::{name}")
            if reason:
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


@pytest.fixture
def global_random_seed():
    return 42  # the one that scikit-learn's tests take unless told otherwise


@pytest.fixture(autouse=True, scope="module")
def patched():
    with resolvent.patch_sklearn():
        yield
