"""Tests of scikit-learn, as functions that pytest collects here."""

import importlib.util

import pytest

import resolvent


def borrow(module):
    """Test functions of a module of scikit-learn, which is imported anew under the patch."""
    spec = importlib.util.find_spec(module)
    copy = importlib.util.module_from_spec(spec)
    with resolvent.patch_sklearn():
        spec.loader.exec_module(copy)
    found = {name: value for name, value in vars(copy).items() if name.startswith("test_")}
    tests = {name: value for name, value in found.items() if callable(value)}
    for test in tests.values():
        for k, mark in enumerate(marks := getattr(test, "pytestmark", [])):
            if mark.name == "parametrize":  # newer versions of pytest refuse iterators
                names, values = mark.args
                marks[k] = pytest.mark.parametrize(names, list(values), **mark.kwargs).mark
    return tests
