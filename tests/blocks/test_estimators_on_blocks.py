"""Estimators fitted to blocks of rows, beside fits to arrays."""

import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from resolvent import (
    KernelClassifier,
    KernelClassifierCV,
    KernelQuantileRegressor,
    KernelRegressor,
    LinearClassifier,
    LinearRegressor,
    Status,
    blocks,
    problem,
)
from resolvent.blocks import ArraySource, Block, Local, Source, Split, as_source
from resolvent.io import load, save
from resolvent.svm import SVC

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, size=(900, 2))
t = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=900)
labels = np.where(t + X[:, 1] > 0, "up", "down")
three = np.digitize(t, [-0.5, 0.5])
weight = rng.integers(0, 3, size=900).astype(float)
LANDMARKS = X[:60] + 0.01


class Plain(Source):
    """A source that a user wrote, which knows nothing but to load its blocks."""

    def __init__(self, y, weight=None, rows=150):
        self.y, self.weight, self.rows = y, weight, rows
        self.n_blocks = -(-len(X) // rows)

    def load(self, i):
        here = slice(i * self.rows, (i + 1) * self.rows)
        w = None if self.weight is None else self.weight[here]
        return Block(X[here], self.y[here], w)

    def place(self, i):
        return f"part {i}"


MODELS = [
    (LinearClassifier("logistic"), labels),
    (LinearClassifier("hinge", class_weight="balanced"), three),
    (LinearRegressor("huber"), np.stack([t, 5 * t], axis=1)),
    (KernelClassifier("hinge", landmarks=LANDMARKS), labels),
    (KernelClassifier("squared_hinge", landmarks=LANDMARKS, class_weight="balanced"), three),
    (KernelRegressor("squared", landmarks=LANDMARKS), t),
    (KernelQuantileRegressor((0.2, 0.8), landmarks=LANDMARKS), t),
]


@pytest.mark.parametrize(("model", "y"), MODELS, ids=[type(m).__name__ for m, _ in MODELS])
def test_blocks_agree_with_arrays(model, y):
    model.set_params(tol=1e-6)
    a, b = clone(model).fit(Plain(y, weight)), clone(model).fit(X, y, weight)
    kernel = hasattr(model, "kernel")
    # Gaps of fits of landmarks are those of the exact problem; what both solved is the same.
    slack = 3e-6 * np.abs(b.objective_)
    np.testing.assert_array_less(np.abs(a.objective_ - b.objective_), slack)
    assert a.status_ == b.status_ == (Status.RANK_LIMIT if kernel else Status.CONVERGED)
    if kernel:
        assert a.certificate_ == b.certificate_ == "exact"
        far = np.abs(np.subtract(a.dual_gap_, b.dual_gap_))
        np.testing.assert_array_less(far, 0.05 * b.dual_gap_ + slack)
    else:
        assert (np.asarray(a.dual_gap_) <= 1e-6 * np.abs(a.objective_)).all()
    if y.dtype.kind == "U":
        assert np.mean(a.predict(X) == b.predict(X)) > 0.99
    source = Plain(y)
    np.testing.assert_array_equal(a.predict(source), a.predict(X))


@pytest.mark.parametrize("rank", [5, 40])
@pytest.mark.parametrize("how", ["exact", "sampled"])
def test_gap_is_at_least_the_true_excess(rank, how):
    exact = KernelRegressor("huber", C=3.0, tol=1e-9).fit(X, t)
    model = KernelRegressor("huber", C=3.0, rank=rank, certificate=how, random_state=0)
    model.fit(as_source(X, t))
    excess = model.objective_ - exact.objective_
    assert excess <= model.dual_gap_
    assert model.certificate_ == how
    if rank == 40 and how == "exact":
        assert model.dual_gap_ < 2.0 * excess


def test_all_rows_as_landmarks_leave_what_the_solver_left():
    few = X[:150]
    model = KernelClassifier(landmarks=few, tol=1e-4).fit(as_source(few, labels[:150]))
    assert model.status_ == Status.CONVERGED
    assert model.dual_gap_ <= 1e-4 * model.objective_


def test_sparse_rows_and_saved_models(tmp_path):
    rows = sparse.csr_array(np.where(np.abs(X) > 1, X, 0.0))
    model = KernelClassifier("logistic", rank=30, random_state=0).fit(as_source(rows, labels))
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert again.dual_gap_ == model.dual_gap_
    assert model.landmarks_.max() < 900


def test_pieces_are_of_few_rows_and_blocks_are_read_once():
    reads = []

    class Counted(ArraySource):
        def load(self, i):
            reads.append(i)
            return super().load(i)

    pieces = Split(Counted(X, t, rows=300), 70)
    assert [pieces.n_rows(i) for i in range(5)] == [60] * 5
    assert pieces.n_blocks == 15
    assert "rows 60 to 119 of it" in pieces.place(1)
    Local(pieces, workers=2).sum(len)
    assert sorted(reads) == [0, 1, 2]


@pytest.mark.parametrize("stage", ["solver", "certificate"])
def test_interrupts_and_limits_leave_an_honest_gap(monkeypatch, stage):
    exact = KernelClassifier("logistic", C=2.0, tol=1e-9).fit(X, labels)
    source = Plain(labels, rows=100)
    home, name = {
        "solver": (problem.sums, "proximal"),
        "certificate": (blocks.certificate, "_form"),
    }[stage]
    original, calls = getattr(home, name), []

    def interrupt(*args):
        calls.append(args)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(home, name, interrupt)
    model = KernelClassifier("logistic", C=2.0, rank=40)
    said = pytest.warns(match="interrupted") if stage == "solver" else nullcontext()
    with said, pytest.raises(KeyboardInterrupt):
        model.fit(source)
    assert model.status_ == Status.INTERRUPTED
    assert model.certificate_ == "incomplete"
    assert model.objective_ - exact.objective_ <= model.dual_gap_ < np.inf


def test_no_time():
    with pytest.warns(Warning, match="time"):
        model = KernelClassifier(rank=40, time_limit=1e-9).fit(Plain(labels))
    assert model.status_ == Status.TIME_LIMIT
    exact = KernelClassifier().fit(X, labels)
    assert model.objective_ - exact.objective_ <= model.dual_gap_


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (KernelClassifier(), ValueError, "give a number of landmarks"),
        (KernelClassifier(rank="auto"), ValueError, "rank='auto' is for arrays"),
        (KernelClassifier(rank=5, multi_class="ovo"), ValueError, "blocks of rows take 'ovr'"),
        (KernelClassifier(rank=5, landmarks=[0, 1]), ValueError, "give them as rows"),
        (KernelClassifier(rank=5, kernel="precomputed"), ValueError, "name a kernel"),
        (LinearClassifier(solver="coordinate_descent"), ValueError, "solver='newton'"),
        (LinearClassifier("crammer_singer"), ValueError, "couples several scores"),
        (KernelClassifier("multinomial", rank=5), ValueError, "certificate='subspace'"),
        (KernelClassifierCV(rank=5), TypeError, "KernelClassifierCV needs arrays"),
        (SVC(), TypeError, "SVC"),
    ],
)
def test_refusals_leave_the_estimator_as_it_was(model, error, message):
    before = set(vars(model))
    with pytest.raises(error, match=message):
        model.fit(Plain(labels), None) if isinstance(model, SVC) else model.fit(Plain(labels))
    assert set(vars(model)) == before
    with pytest.raises(ValueError, match="give them to as_source"):
        LinearClassifier().fit(Plain(labels), labels)


def test_memory_of_features_that_do_not_fit(tmp_path):
    """In a process of its own: features of 77 MB are computed anew with a limit of 30 MB."""
    parquet = pytest.importorskip("pyarrow.parquet")
    pyarrow = pytest.importorskip("pyarrow")
    n, path = 48_000, tmp_path / "rows.parquet"
    wide = np.random.default_rng(1).normal(size=(n, 4)).astype(np.float32)
    y = np.where(wide[:, 0] * wide[:, 1] > 0, 1, 0)
    table = pyarrow.table({f"x{k}": wide[:, k] for k in range(4)} | {"y": y})
    parquet.write_table(table, path, row_group_size=16_000)
    script = (
        "import sys, threading, time, psutil\n"
        "from resolvent import KernelClassifier\n"
        "from resolvent.blocks import as_source\n"
        "def model(): return KernelClassifier('squared_hinge', rank=400, tol=0.2, max_iter=2,\n"
        "    certificate='subspace', memory_limit='30MB', random_state=0)\n"
        "source = as_source(sys.argv[1], 'y', memory_limit='30MB')\n"
        "import numpy as np\n"
        "rng = np.random.default_rng(0); few = rng.normal(size=(7000, 4)).astype(np.float32)\n"
        "import warnings; warnings.simplefilter('ignore')\n"
        "model().fit(as_source(few, few[:, 0] > 0, memory_limit='30MB'))\n"
        "process = psutil.Process(); before = process.memory_info().rss; peak = [0]\n"
        "def watch():\n"
        "    while True:\n"
        "        peak[0] = max(peak[0], process.memory_info().rss); time.sleep(0.005)\n"
        "threading.Thread(target=watch, daemon=True).start()\n"
        "model().fit(source)\n"
        "print(peak[0] - before)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    blocks = 2 * 16_000 * 5 * 8  # the row groups of two threads, with what reading them takes
    assert int(found.stdout) < 1.2 * 30e6 + 3 * blocks
