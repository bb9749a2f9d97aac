"""The machinery of the benchmarks, at toy size: no test here looks at a clock."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.svm import SVC, LinearSVC

import resolvent
from benchmarks import __main__ as command
from benchmarks import (
    certificate,
    compare,
    kernel_rows,
    measure,
    report,
    scale,
    small,
    solvers,
    startup,
    tables,
)
from benchmarks.objective import LOSSES, MARGIN_LOSSES, Objective, rbf_product
from benchmarks.tables import Cell, Table
from resolvent import gram, solve
from resolvent.solvers.small import LARGEST

PARTS = "X", "y", "X_test", "y_test"


def toy(loss="hinge", n=80, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + 40, 3)).astype(np.float32)
    z = X[:, 0] + np.sin(X[:, 1])
    y = z - z.mean()
    if loss in MARGIN_LOSSES:
        y = np.digitize(z, np.quantile(z, np.arange(1, classes) / classes))
    return dict(zip(PARTS, (X[:n], y[:n], X[n:], y[n:]), strict=True))


def problem(name, loss, tol=None, data=None, **settings):
    """Solve a toy problem by a solver of the benchmark; its objective and the solver."""
    objective = Objective(loss, 2.0, **settings)
    objective.set_data(**(data or toy(loss)))
    solver = solvers.make(name)
    told = objective.get_objective()
    assert solver.skip(**told) is None
    solver.set_objective(**told, tol=tol, memory=100)
    solver.run()
    return objective, solver


def judged(objective, solver):
    predictions = solver.predict(objective.X_test)
    return objective.evaluate_result(**solver.get_result(), predictions=predictions)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("loss", LOSSES)
def test_common_objective_is_the_solutions(loss, kernel):
    offset = kernel == "rbf"
    objective, solver = problem("resolvent", loss, kernel=kernel, fit_intercept=offset)
    found = judged(objective, solver)
    # The estimators keep rows of K in single precision; the judge computes them in double.
    assert found["primal"] == pytest.approx(solver.certificate()["claimed"], rel=1e-5)
    assert 0.3 < found["score"] <= 1


def test_kernel_ridge_with_coefficients_of_zero_is_judged():
    data = toy("squared", n=LARGEST + 100)  # smaller ones are solved exactly
    data["y"] = np.where(np.arange(len(data["y"])) % 2, data["y"], 0.0)
    objective, solver = problem("resolvent", "squared", tol=0.9, data=data, fit_intercept=False)
    assert isinstance(solver.model, resolvent.KernelRidge)
    assert not solver.model.dual_coef_.all()
    claimed = solver.certificate()["claimed"]
    assert judged(objective, solver)["primal"] == pytest.approx(claimed, rel=1e-5)


def test_common_objective_by_the_functional_interface():
    data = toy()
    K = gram(data["X"].astype(float), kernel="rbf", gamma=0.4)
    y = np.where(data["y"] == 1, 1.0, -1.0)
    solution = solve("hinge", K, y, C=2.0, fit_intercept=True)
    objective = Objective("hinge", 2.0)
    objective.set_data(**data)
    objective.gamma = 0.4
    found = objective.evaluate_result(solution.coef[:, None], [solution.intercept], data["y_test"])
    assert found["primal"] == pytest.approx(solution.primal, rel=1e-9)
    assert found["score"] == 1


@pytest.mark.parametrize(
    ("kernel", "loss"), [("rbf", "hinge"), ("linear", "hinge"), ("linear", "logistic")]
)
def test_several_classes_have_the_objective_of_all_problems(kernel, loss):
    data = toy(classes=4)
    settings = {"kernel": kernel, "fit_intercept": kernel == "rbf", "data": data}
    ours = judged(*problem("resolvent", loss, tol=1e-6, **settings))
    theirs = judged(*problem("scikit-learn", loss, tol=1e-7, **settings))
    assert ours["primal"] == pytest.approx(theirs["primal"], rel=1e-4)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("classes", [2, 3])
def test_liblinear_is_judged_as_we_are(loss, classes):
    pytest.importorskip("liblinear", reason="an optional peer, extra 'bench'")
    data = toy(classes=classes)
    for part in ("X", "X_test"):
        data[part] = sp.csr_matrix(data[part])
    settings = {"kernel": "linear", "fit_intercept": False, "data": data}
    ours = judged(*problem("resolvent", loss, tol=1e-8, **settings))
    theirs = judged(*problem("LIBLINEAR", loss, tol=1e-6, **settings))
    assert ours["primal"] == pytest.approx(theirs["primal"], rel=1e-4)
    assert ours["score"] == pytest.approx(theirs["score"], abs=0.05)


def test_rbf_product_is_the_definition():
    rng = np.random.default_rng(0)
    X, coef = rng.standard_normal((30, 2)) + 100, rng.standard_normal((30, 2))
    coef[::3] = 0
    K = np.exp(-0.7 * ((X[:, None] - X) ** 2).sum(axis=2))
    assert np.allclose(rbf_product(X, coef, 0.7, block=7), K @ coef, rtol=1e-12, atol=1e-12)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make a folder of data whose one file is a toy, under the name of a real one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5200, 4))
    y = np.where(X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(5200) > 0, 1, -1)
    np.savez(tmp_path / "ijcnn1.npz", X=X.astype(np.float32), y=y)
    monkeypatch.setenv("RESOLVENT_DATA", str(tmp_path))
    return tmp_path


def test_problems_solved_one_by_one_have_no_course_in_common():
    rng = np.random.default_rng(0)
    n = LARGEST + 100  # below, all problems are solved in one call
    X, y = rng.standard_normal((n, 2)), rng.integers(6, size=n)
    solver = solvers.make("resolvent")
    told = Objective("hinge", 1.0, "rbf", True, 0.1)
    told.set_data(X, y, X, y)
    solver.set_objective(**told.get_objective(), tol=None, memory=100)
    solver.run()
    assert solver.certificate()["history"] == []
    assert solver.certificate()["claimed"] == pytest.approx(solver.model.objective_.sum())


def test_table_end_to_end(folder, monkeypatch, capsys):
    cells = Cell("ijcnn1", 150, "hinge", 1.0), Cell("letter", 150, "hinge", 1.0)
    peers = "scikit-learn", "ThunderSVM"
    table = Table("Toy", cells, peers, compare=("scikit-learn",), curves=True)
    monkeypatch.setitem(tables.TABLES, "svm", table)
    monkeypatch.setitem(sys.modules, "thundersvm", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "benchmarks.solvers.thundersvm", raising=False)
    # A process for each run is what takes the time here; the runs themselves are real.
    monkeypatch.setattr(command, "measure", lambda *task, rows=None: in_this_process(*task))
    monkeypatch.setattr(measure, "REPEATS", 1)
    monkeypatch.setattr(command, "CURVE", (1e-1,))
    results = folder / "results"
    command.main(["svm", "--results", str(results)])
    said = capsys.readouterr().out
    assert "ThunderSVM, tol default: skipped: not installed" in said
    assert "skipped: letter: RESOLVENT_DATA has no letter.npz" in said
    text = (results / "svm.md").read_text()
    assert "geometric mean" in text
    assert "ijcnn1" in text
    assert (results / "svm.png").stat().st_size > 1000
    stored = json.loads((results / "svm.json").read_text())
    assert stored["machine"]["resolvent"] == resolvent.__version__
    # A second time nothing is run.
    command.main(["svm", "--results", str(results)])
    assert "objective" not in capsys.readouterr().out
    assert (results / "svm.md").read_text() == text


def in_this_process(cell, solver, tol, path, limit):
    task = {"objective": cell.objective(), "solver": solver, "tol": tol, "memory": cell.memory}
    return json.loads(json.dumps(measure.child({**task, "path": str(path), "rows": None})))


def test_a_run_has_its_own_process_and_a_limit(folder):
    cell = Cell("ijcnn1", 150, "hinge", 1.0)
    path = measure.prepare(cell, folder)
    assert measure.measure(cell, "scikit-learn", None, path, 0.01)["timeout"] == 0.01
    found = measure.measure(cell, "scikit-learn", None, path, 200)
    assert found["tol"] == 1e-3
    assert found["score"] > 0.8


def run(fit, primal, **more):
    return {"fit": fit, "primal": primal, "tol": 0, **more}


def test_ratios_are_at_an_equal_or_better_objective():
    table = Table("", (), ("P", "P[cache_size=1]"), compare=("P", "P[cache_size=1]"))
    runs = {
        ("P", None): run(5.0, 100.01),
        ("P[cache_size=1]", None): run(4.0, 100.02),
        ("P", 1e-4): run(50.0, 100.0),
        ("resolvent", 1e-2): run(0.5, 101.0, bound=99.0),  # too far from the optimum
        ("resolvent", 1e-3): run(1.0, 100.01005, bound=99.9),
        ("resolvent", 1e-5): run(2.0, 100.0, bound=99.99),
    }
    found = report.columns(table, runs)
    assert found["P"]["fit"] == 4.0
    assert found[report.MATCHED]["fit"] == 1.0
    assert found[report.OURS]["fit"] == 2.0
    assert report.optimum(runs) == 99.99
    cell = Cell("covtype", 10, "hinge", 1.0)
    rows = report.ratio_rows(table, {cell: runs})
    assert rows[0][2] == "4.00 (2.00)"
    assert rows[1][2] == "**4.00** (2.00)"


@pytest.mark.parametrize("name", tables.TABLES)
def test_every_table_can_be_reported(name, tmp_path):
    """Made-up runs: our seconds are n / 1000, a peer's are the square of that."""
    table = replace(tables.TABLES[name], curves=False)  # the picture is drawn by the test above

    def made_up(cell, solver, tol=None):
        seconds = (cell.n or 3000) / 1000
        seconds = seconds if solver.startswith("resolvent") else seconds**2
        more = {"cold": 2.0, "predict": 0.1, "fit_mb": 5.0, "score": 0.9}
        return run(seconds, 100.0, bound=99.999, history=[[0.1, 110.0], [1.0, 100.0]], **more)

    results = command.run_table(table, made_up, curves=True)
    assert list(results) == list(table.cells)
    report.write(tmp_path / name, table, results)
    text = (tmp_path / f"{name}.md").read_text()
    assert table.cells[0].label(table.cells) in text
    if name == "growth":
        assert "| resolvent | 1.00 | 5 |" in text
        assert "| scikit-learn | 2.00 | 5 |" in text
    if table.kind in ("losses", "solvers"):
        assert "| 1.00 |" in text


def test_time_to_start_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(startup, "measure", lambda code, cache: 1.0 if "sklearn" in code else 1.3)
    startup.write(tmp_path / "startup.md")
    text = (tmp_path / "startup.md").read_text()
    assert "| `import resolvent` | 1.300 | 1.000 | 1.30 | 1.25 missed |" in text
    assert "| import + first `solve`, warm | 1.300 | 1.000 | 1.30 | 1.5 met |" in text


def test_rows_of_the_kernel_matrix_are_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_rows, "measure", lambda n, rows, d, repeat: (0.003 * d, 0.01, 0.01))
    kernel_rows.write(tmp_path / "kernel_rows.md")
    text = (tmp_path / "kernel_rows.md").read_text()
    assert "| 8 | 24.0 | 10.0 | 10.0 | 1.20 | 1.5 met |" in text
    assert "| 784 | 2352.0 | 10.0 | 10.0 | 117.60 | 1.5 missed |" in text


def test_rows_of_the_kernel_matrix_are_measured():
    assert (kernel_rows.measure(300, 20, 3, 2) > 0).all()


def test_every_table_names_what_there_is():
    for table in tables.TABLES.values():
        for cell in table.cells:
            assert cell.loss in LOSSES
            assert (measure.ROOT / "benchmarks" / "datasets" / f"{cell.dataset}.py").exists()
        for name in (*table.peers, *table.ours):
            assert name.partition("[")[0] in solvers.MODULES
        assert set(table.compare) <= {*table.peers} or not table.peers
        assert table.kind in report.KINDS


def test_toy_problems_are_those_of_scikit_learn():
    data = toy()
    objective, solver = problem("scikit-learn", "hinge", tol=1e-3)
    reference = SVC(C=2.0, gamma="scale").fit(data["X"], data["y"])
    assert objective.gamma == pytest.approx(reference._gamma, rel=1e-5)
    assert np.array_equal(solver.predict(data["X_test"]), reference.predict(data["X_test"]))
    assert isinstance(problem("scikit-learn", "hinge", kernel="linear")[1].model, LinearSVC)


def test_a_difference_counts_where_most_turns_agree():
    assert compare.verdict([1.2, 1.1, 1.3, 1.2, 1.25]) == "faster"
    assert compare.verdict([0.8, 0.9, 0.7, 0.8, 0.85]) == "slower"
    assert compare.verdict([1.01, 0.99, 1.02, 1.0, 1.01]) == "same"  # too little
    assert compare.verdict([0.5, 1.4, 0.9, 1.3, 1.2]) == "same"  # no agreement


def test_two_packages_take_turns(tmp_path):
    source = compare.ROOT / "src"
    task = {"kind": "startup", "code": "import resolvent", "cache": str(tmp_path)}
    times, judged = compare.turns((source, source), task, repeats=2)
    assert len(times) == 2
    assert all(seconds > 0 for turn in times for seconds in turn)
    assert judged == [{}, {}]


def test_a_measurement_that_fails_is_not_a_time():
    source = compare.ROOT / "src"
    task = {"kind": "startup", "code": "there is no such code", "cache": ""}
    with pytest.raises(RuntimeError, match="failed"):
        compare.turns((source, source), task, repeats=2)


def test_a_mistyped_comparison_says_so(capsys, tmp_path):
    with pytest.raises(SystemExit):
        command.main(["compare", "HEAD", "svmm"])
    assert "unknown tables svmm" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="no revision 'there-is-none'"):
        compare.checked_out("there-is-none", tmp_path)


def test_small_fits_have_both_sides():
    cells = list(small.cells())
    assert len({name for name, *_ in cells}) == len(small.PAIRS)
    name, data, n, C = cells[0]
    for side in ("ours", "theirs"):
        assert small.fit(name, side, data, n, C)().predict(small.load(data, n)[0]).shape == (n,)


def test_low_rank_fits_beside_pipelines(tmp_path, monkeypatch):
    X = np.random.default_rng(0).standard_normal((300, 3)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    monkeypatch.setattr(scale, "load", lambda rows: (X, y, 0.3))
    monkeypatch.setattr(scale, "RANKS", (20,))
    scale.write(tmp_path / "scale.md", 300)
    rows = [line.split("|") for line in (tmp_path / "scale.md").read_text().splitlines()]
    found = {row[1].strip(): row for row in rows if len(row) > 9}
    for loss in scale.THEIRS:
        ours, theirs, gap = (float(found[loss][i]) for i in (6, 7, 8))
        assert (1 - gap) * ours <= theirs  # both are above the same minimum


def test_certified_gaps_beside_true_ones(monkeypatch, tmp_path):
    X, y = make_moons(200, noise=0.3, random_state=0)
    data = {"X": X.astype(np.float32), "y": np.where(y == 1, 1.0, -1.0)}
    monkeypatch.setattr(certificate.datasets, "get", lambda name, n: data)
    monkeypatch.setattr(certificate, "CELLS", {"moons, hinge": ("moons", 200, "hinge", 1.0)})
    monkeypatch.setattr(certificate, "RANKS", (5, 20, 400))
    certificate.write(tmp_path / "certificate.md")
    lines = (tmp_path / "certificate.md").read_text().splitlines()
    rows = [line.split("|")[1:-1] for line in lines if line.startswith("| moons")]
    assert [int(row[2]) for row in rows] == [5, 20]
    for row in rows:
        assert float(row[4]) >= float(row[3]) > 0.0  # certified and true gap
        assert float(row[5]) >= 1.0
