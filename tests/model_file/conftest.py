"""Models that the tests of model files share."""

import numpy as np
import pytest
from models import IRIS, NAMES, fitted

import resolvent
from resolvent import KernelClassifier
from resolvent.tabular import TabularModel
from resolvent.tabular.features import Features
from resolvent.tabular.raw import Table, TextColumn


@pytest.fixture
def tabular():
    words = TextColumn(np.arange(len(IRIS)) % 3, ["red", "green", "blue"])
    table = Table("here", {"length": IRIS[:, 0], "colour": words})
    features = Features.learn(table, scale="standard")
    model = KernelClassifier(C=10.0).fit(features(table), NAMES)
    return TabularModel(model, features, "species"), table


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "model"
    resolvent.save(fitted("classifier")[0], path)
    return path.read_bytes()
