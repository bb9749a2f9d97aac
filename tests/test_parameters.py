"""Descriptions of parameters: complete, true of the signature, and the same wherever they recur."""

import ast
import inspect
import re
from collections import defaultdict

import pytest

import resolvent
import resolvent.svm

CLASSES = {
    name: cls
    for module in (resolvent, resolvent.svm)
    for name in module.__all__
    if inspect.isclass(cls := getattr(module, name)) and hasattr(cls, "get_params")
}
# Where scikit-learn has the same estimator, texts say what its parameters do there and here.
DROP_INS = {"KernelRidge", *resolvent.svm.__all__}
FAMILIES = {
    "searches": [name for name in CLASSES if name.endswith("CV")],
    "others": [name for name in CLASSES if not name.endswith("CV") and name not in DROP_INS],
}
# Parameters that mean something else in each estimator of a family, or are of another kind of
# prediction. All others have one text.
OWN = {"conformal", "cv", "gamma", "kernel", "loss", "scoring"}


def entries(cls):
    """Type and text of each parameter in a docstring of numpydoc."""
    doc = inspect.cleandoc(cls.__doc__)
    part = re.search(r"\nParameters\n-+\n(.*?)(?=\n\n?[A-Z][a-z ]+\n-+\n|\Z)", doc, re.DOTALL)[1]
    found = re.findall(r"^(\S[^\n:]*) : ([^\n]*)\n((?:    .*\n?|\n)*)", part, re.MULTILINE)
    return {
        name: (kind, " ".join(text.split()))
        for names, kind, text in found
        for name in names.split(", ")
    }


@pytest.mark.parametrize("name", CLASSES)
def test_all_parameters_are_described_in_the_order_of_the_signature(name):
    signature = inspect.signature(CLASSES[name]).parameters
    described = entries(CLASSES[name])
    assert list(described) == list(signature)
    for key, (kind, text) in described.items():
        assert text, key
        default = re.search(r"default=(.*)$", kind)
        if default is not None:
            assert ast.literal_eval(default[1]) == signature[key].default, key


@pytest.mark.parametrize("family", FAMILIES)
def test_a_parameter_has_one_description(family):
    texts = defaultdict(lambda: defaultdict(list))
    for name in FAMILIES[family]:
        for key, entry in entries(CLASSES[name]).items():
            texts[key][entry].append(name)
    several = {key: dict(found) for key, found in texts.items() if len(found) > 1}
    assert not several.keys() - OWN, several
