"""Small files to damage: models of every kind, data in every format."""

import bz2
import gzip
import io
import lzma
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone

import resolvent
from resolvent import KernelClassifier
from resolvent.io.read import read
from resolvent.tabular import TabularModel
from resolvent.tabular.features import Features
from tests.model_file.models import CASES

SVMLIGHT = b"+1 1:0.5 3:-2e-3 # a row\n-1 2:.25\n1 1:1. 2:2 3:3\n-1 1:7\n1 3:4 2:1\n"
CSV = (
    b"age,colour,size,zip,y\n31,red,0.5,007,a\n42,blue,,012,b\n23,red,-2,007,a\n"
    b'55,"light, green",1e-3,100,b\n61,NA,4,100,a\n'
)
QUOTED = b'"age";"b c";"y"\n"1";"x ""q""";"u"\n"2";"z";"v"\n"3.5";"z";"u"\n'


def model_seeds(names=None):
    """Bytes of a model file for each case, or for some; each loss takes seconds to compile."""
    seeds = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        for name, (estimator, X, y) in CASES.items():
            if names is not None and name not in names:
                continue
            rows = np.arange(0, X.shape[0], 5)
            precomputed = getattr(estimator, "kernel", None) == "precomputed"
            some = X[np.ix_(rows, rows)] if precomputed else X[rows]
            model = clone(estimator).fit(some, None if y is None else y[rows])
            seeds[name] = _saved(model, path)
        for name, model in _tabular_models().items():
            seeds[name] = _saved(model, path)
    return seeds


def _saved(model, path):
    estimator = getattr(model, "estimator", model)
    estimator.fit_time_ = 0.25
    estimator.history_ = [record._replace(seconds=0.25) for record in estimator.history_[:3]]
    resolvent.save(model, path)
    return path.read_bytes()


def _tabular_models():
    found = {}
    for scale, impute in (("standard", True), ("none", False), ("minmax", True)):
        raw = _read(CSV, "csv")
        without = ["y"] if impute else ["y", "size", "colour"]
        features = Features.learn(raw, without=without, scale=scale, impute=impute)
        labels = np.array(raw.columns["y"].categories)[raw.columns["y"].codes]
        model = KernelClassifier().fit(features(raw), labels)
        found[f"table, {scale}"] = TabularModel(model, features, "y")
    raw = _read(SVMLIGHT, "svmlight")
    features = Features.learn(raw, scale="minmax")
    model = KernelClassifier().fit(features(raw), raw.y)
    found["svmlight"] = TabularModel(model, features)
    return found


def libsvm_seeds():
    """Bytes of model files that svm-train wrote."""
    folder = Path(__file__).parents[1] / "data" / "libsvm"
    return {path.stem: path.read_bytes() for path in sorted(folder.glob("*.model"))}


def data_seeds():
    """Bytes of files of data, the format of each as the first word of its name."""
    seeds = {"svmlight": SVMLIGHT, "csv": CSV, "tsv": CSV.replace(b",", b"\t")}
    seeds["csv quoted"] = QUOTED
    for name, compress in (("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)):
        seeds |= {f"csv {name}": compress(CSV), f"svmlight {name}": compress(SVMLIGHT)}
    frame = pd.read_csv(io.BytesIO(CSV)).assign(
        when=[True, False, True, False, True], kind=pd.Categorical(list("uvuvu"))
    )
    for compression in (None, "snappy", "gzip"):
        seeds[f"parquet {compression}"] = frame.to_parquet(compression=compression)
    X = np.arange(15.0).reshape(5, 3)
    arrays = {"X": X, "y": np.array(list("ababa")), "w": np.ones(5)}
    for name, write in (("plain", np.savez), ("compressed", np.savez_compressed)):
        buffer = io.BytesIO()
        write(buffer, **arrays)
        seeds[f"npz {name}"] = buffer.getvalue()
    buffer = io.BytesIO()
    np.savez(buffer, X=X.astype(np.int16), y=np.arange(5))
    seeds["npz integers"] = buffer.getvalue()
    return seeds


def _read(content, format):
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        return read(file.name, format)
