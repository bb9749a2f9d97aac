"""LIBSVM's model files: read those of svm-train, write what svm-predict reads."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from resolvent.estimators.classes import pairs
from resolvent.estimators.classifier import MachineClassifier
from resolvent.estimators.expansion import Expansion
from resolvent.estimators.linear import LinearMachine
from resolvent.estimators.nu import NuSVC, NuSVR
from resolvent.estimators.one_class import OneClassSVM
from resolvent.estimators.regressor import MachineRegressor
from resolvent.estimators.svc import SupportVectorClassifier
from resolvent.estimators.svm import SVC, SVR
from resolvent.io.arrays import check_width
from resolvent.io.atomic import write_atomically
from resolvent.io.errors import DataFileError, ModelFileError
from resolvent.io.svmlight import read_svmlight
from resolvent.kernels import RBF, Kernel, Linear, Polynomial, Sigmoid
from resolvent.tabular import TabularModel
from resolvent.tabular.features import Features

__all__ = ["looks_like_libsvm", "read_libsvm", "write_libsvm"]

KERNELS: dict[str, Any] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "rbf": RBF,
    "sigmoid": Sigmoid,
}
MACHINES: dict[str, Any] = {
    "c_svc": SVC,
    "nu_svc": NuSVC,
    "one_class": OneClassSVM,
    "epsilon_svr": SVR,
    "nu_svr": NuSVR,
}
PARAMETERS = {"linear": (), "polynomial": ("degree", "gamma", "coef0"), "rbf": ("gamma",)}
PARAMETERS["sigmoid"] = ("gamma", "coef0")
INTEGERS = {"nr_class", "total_sv", "degree", "nr_sv", "label"}
KNOWN = {"svm_type", "kernel_type", "gamma", "coef0", "rho", "probA", "probB", *INTEGERS}


def looks_like_libsvm(path: Any) -> bool:
    """Whether a file starts as LIBSVM's models do."""
    try:
        with open(path, "rb") as file:
            return file.read(9) == b"svm_type "
    except OSError:
        return False


# ---- reading ------------------------------------------------------------------------------------


def read_libsvm(path: Any, n_features: int = 0) -> TabularModel:
    """Read a model that svm-train wrote, of any of its five types.

    The classes are in the order of the file, so that ties among votes are decided as by
    svm-predict. Such a file has no certificate, and does not say C.

    Parameters
    ----------
    path : str or Path
        The file.
    n_features : int
        The number of features, if there are more than the support vectors have.

    Returns
    -------
    TabularModel
        Around an estimator of :mod:`resolvent.svm`.
    """
    source = str(path)
    content = Path(path).read_bytes()
    head, found, body = content.partition(b"\nSV")
    if not found:
        raise ModelFileError(f"{source}: expected a line SV before the support vectors.")
    header = _header(head, source)
    kind = _word(header, "svm_type", source)
    if kind not in MACHINES:
        raise ModelFileError(
            f"{source}: svm_type {kind} is not known; expected one of {', '.join(MACHINES)}."
        )
    kernel = _kernel(header, source)
    model = MACHINES[kind]()
    is_classifier = isinstance(model, SupportVectorClassifier)
    k = int(_numbers(header, "nr_class", source, 1)[0])
    if k < 2 or (not is_classifier and k != 2):
        raise ModelFileError(
            f"{source}: nr_class is {k}; expected 2 or more, and 2 where there are no classes."
        )
    n = int(_numbers(header, "total_sv", source, 1)[0])
    if k * (k - 1) // 2 > len(content) or not 0 <= n <= len(content):
        raise ModelFileError(f"{source}: nr_class or total_sv is larger than the file.")
    rho = _numbers(header, "rho", source, k * (k - 1) // 2)
    coef, rows, base = _support(body, head.count(b"\n") + 3, k - 1, n, source, n_features)
    if is_classifier:
        labels = _numbers(header, "label", source, k).astype(int)
        counts = _numbers(header, "nr_sv", source, k).astype(int)
        if len(set(labels.tolist())) < k or (counts < 0).any() or counts.sum() != n:
            raise ModelFileError(f"{source}: label has duplicates, or nr_sv does not add up.")
        codes = np.repeat(np.arange(k), counts)
        coef = _by_pair(coef, codes, k)
        if k == 2:  # positive scores are for the second class here, for the first one there
            labels, codes = labels[::-1].copy(), 1 - codes
            order = np.argsort(codes, kind="stable")
            codes, coef, rows = codes[order], coef[order], rows[order]
        model.classes_, model.class_weight_ = labels, np.ones(k)
    model.set_params(kernel=kernel)
    model.n_features_in_, model._n_given = rows.shape[1], 0
    model._expansion = Expansion(kernel, rows, coef, -rho)
    model._set_kernel(kernel, (0, rows.shape[1]))
    if is_classifier:
        model._arrange_pairs(codes)
    else:
        if isinstance(model, MachineRegressor):
            model._target_loss("epsilon_insensitive")
            model._vector = True
        model._arrange()
    return TabularModel(model, Features(rows.shape[1], base=base))


def _header(head: bytes, source: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for number, line in enumerate(head.decode("latin-1").splitlines(), 1):
        key, *values = line.split() or [""]
        if key not in KNOWN or not values:
            raise ModelFileError(
                f"{source}:{number}: expected an entry such as kernel_type rbf, found "
                f"{line[:40]!r}."
            )
        found[key] = values
    return found


def _word(header: dict[str, list[str]], key: str, source: str) -> str:
    if key not in header:
        raise ModelFileError(f"{source}: the entry {key} is missing.")
    return header[key][0]


def _numbers(header: dict[str, list[str]], key: str, source: str, count: int) -> np.ndarray:
    _word(header, key, source)
    try:
        values = np.array([float(word) for word in header[key]])
    except ValueError:
        values = np.full(1, np.nan)
    whole = key not in INTEGERS or (values == np.round(values)).all()
    if len(values) != count or not np.isfinite(values).all() or not whole:
        wanted = "whole number" if key in INTEGERS else "number"
        raise ModelFileError(
            f"{source}: {key} is {' '.join(header[key])[:60]!r}; expected {count} {wanted}"
            f"{'s' * (count > 1)}."
        )
    if (np.abs(values) > 2**53).any() and key in INTEGERS:
        raise ModelFileError(f"{source}: {key} is too large.")
    return values


def _kernel(header: dict[str, list[str]], source: str) -> Kernel:
    name = _word(header, "kernel_type", source)
    if name not in KERNELS:
        raise ModelFileError(
            f"{source}: kernel_type {name} is not supported; {', '.join(KERNELS)} are."
        )
    given = {key: float(_numbers(header, key, source, 1)[0]) for key in PARAMETERS[name]}
    try:
        return KERNELS[name](**given)
    except ValueError as error:
        raise ModelFileError(f"{source}: {error}") from None


def _support(
    body: bytes, line: int, columns: int, n: int, source: str, n_features: int
) -> tuple[np.ndarray, csr_matrix, int]:
    """Coefficients (n, columns), support vectors, and the first index."""
    import io

    lines = body.split(b"\n")[1:]
    lines = lines[:-1] if lines and not lines[-1].strip() else lines
    if len(lines) != n:
        raise ModelFileError(
            f"{source}: total_sv is {n}, but there are {len(lines)} support vectors; is the file "
            "cut off?"
        )
    coef = np.zeros((n, columns))
    rest = []
    for i, text in enumerate(lines):
        words = text.split(maxsplit=columns)
        try:
            coef[i] = [float(word) for word in words[:columns]]
        except ValueError:
            words = []
        if len(words) < columns or not np.isfinite(coef[i]).all():
            raise ModelFileError(
                f"{source}:{line + i}: expected {columns} coefficients and a support vector."
            )
        rest.append(b"0 " + (words[columns] if len(words) > columns else b""))
    if not n:
        return coef, csr_matrix((0, max(n_features, 1))), 1
    try:
        matrix = read_svmlight(io.BytesIO(b"\n".join(rest)), source)
    except DataFileError as error:
        message = re.sub(r"^.*?: (?=\S)", "", str(error).removeprefix(source))
        place = f"{source}:{line + error.line - 1}"
        raise ModelFileError(f"{place}: in the support vector {message}") from None
    width = max(matrix.X.shape[1], n_features, 1)
    check_width(width)
    rows = csr_matrix((matrix.X.data, matrix.X.indices, matrix.X.indptr), shape=(n, width))
    return coef, rows, matrix.base


def _by_pair(coef: np.ndarray, codes: np.ndarray, k: int) -> np.ndarray:
    """Turn LIBSVM's coefficients, one for each other class, into one for each pair."""
    found = np.zeros((len(codes), k * (k - 1) // 2))
    for p, (i, j) in enumerate(pairs(k)):
        first, second = codes == i, codes == j
        found[first, p] = coef[first, j - 1]
        found[second, p] = coef[second, i]
    return found


# ---- writing ------------------------------------------------------------------------------------


def write_libsvm(model: Any, path: Any) -> None:
    """Write a model as a file that svm-predict reads.

    Parameters
    ----------
    model : estimator or TabularModel
        A classifier of two classes or by one-vs-one problems, whose labels are whole numbers, or a
        regressor of one target, with a kernel that LIBSVM has.
    path : str or Path
        The file.

    Raises
    ------
    ModelFileError
        If LIBSVM has no such model; the message says why.
    """
    base = 1
    if isinstance(model, TabularModel):
        _check_plain(model.features)
        base, model = model.features.base, model.estimator
    if isinstance(model, LinearMachine):
        # A linear function is an expansion in one support vector: its weights.
        weights = np.atleast_2d(model.coef_)
        offset = np.atleast_1d(np.asarray(model.intercept_, dtype=float))
        expansion = Expansion(Linear(), weights[:1], np.ones((1, 1)), offset)
    else:
        expansion = model._expansion
    lines = _kernel_lines(expansion.kernel)
    if isinstance(model, MachineClassifier):
        lines, rows, coef = _classifier_lines(model, expansion, lines)
    else:
        if len(expansion.intercept) != 1 or "inverse_link" in vars(
            type(getattr(model, "_loss", 0))
        ):
            raise ModelFileError(
                "LIBSVM's regression has one target and predicts the score itself; this model has "
                "several targets, or a link such as exp."
            )
        lines = ["svm_type epsilon_svr", *lines, "nr_class 2", f"total_sv {len(expansion.coef)}"]
        lines.append(f"rho {_text(-expansion.intercept)}")
        rows, coef = expansion.rows, expansion.coef
    rows = csr_matrix(rows) if issparse(rows) else csr_matrix(np.asarray(rows, dtype=float))
    rows.sort_indices()
    lines.append("SV")
    for i in range(len(coef)):
        start, stop = rows.indptr[i], rows.indptr[i + 1]
        pairs_ = zip(rows.indices[start:stop].tolist(), rows.data[start:stop].tolist(), strict=True)
        features = " ".join(f"{j + base}:{value!r}" for j, value in pairs_ if value)
        lines.append(f"{_text(coef[i])} {features} ")
    write_atomically(path, ("\n".join(lines) + "\n").encode())


def _check_plain(features: Features) -> None:
    if features.words or features.factor is not None:
        what = "words as columns" if features.words else f"{features.method} scaling"
        raise ModelFileError(
            f"The model has {what}, which LIBSVM's files cannot hold. Fit with --scale none on "
            "numbers; svm-scale scales them."
        )


def _kernel_lines(kernel: Kernel | None) -> list[str]:
    name = next((name for name, cls in KERNELS.items() if type(kernel) is cls), None)
    if name is None or (isinstance(kernel, Linear) and kernel.bias):
        raise ModelFileError(
            f"LIBSVM does not have the kernel {kernel!r}; it has linear, poly, rbf and sigmoid."
        )
    lines = [f"kernel_type {name}"]
    return lines + [f"{key} {getattr(kernel, key)!r}" for key in PARAMETERS[name]]


def _classifier_lines(
    model: Any, expansion: Expansion, lines: list[str]
) -> tuple[list[str], Any, np.ndarray]:
    labels, k = model.classes_, len(model.classes_)
    if labels.dtype.kind not in "iufb" or (labels.astype(float) != np.round(labels)).any():
        raise ModelFileError(
            f"LIBSVM's labels are whole numbers; this model's are {labels.tolist()[:4]}. Fit on "
            "data with numbers as labels."
        )
    pairwise = isinstance(model, SupportVectorClassifier)
    strategy = "ovo" if pairwise else getattr(model, "multi_class", "ovr")
    if k > 2 and (strategy != "ovo" or isinstance(model, LinearMachine)):
        raise ModelFileError(
            f"The model tells {k} classes apart one-vs-rest, LIBSVM one-vs-one. Fit with "
            "--multiclass ovo."
        )
    table = [(1, 0)] if k == 2 else pairs(k)  # the first of a pair has positive scores
    # Only a pair's own samples have a coefficient, and its sign is that of their class in it.
    codes = np.zeros(len(expansion.coef), dtype=int)
    for p, (i, j) in enumerate(table):
        codes[expansion.coef[:, p] > 0], codes[expansion.coef[:, p] < 0] = i, j
    ranks = 1 - codes if k == 2 else codes  # in the order in which LIBSVM gets the labels
    order = np.argsort(ranks, kind="stable")
    ranks, coef = ranks[order], expansion.coef[order]
    if k == 2:
        arranged = coef
    else:
        arranged = np.zeros((len(coef), k - 1))
        for p, (i, j) in enumerate(table):
            first, second = ranks == i, ranks == j
            arranged[first, j - 1], arranged[second, i] = coef[first, p], coef[second, p]
    names = labels.astype(int)[::-1] if k == 2 else labels.astype(int)
    counts = np.bincount(ranks, minlength=k)
    lines = [
        "svm_type c_svc",
        *lines,
        f"nr_class {k}",
        f"total_sv {len(coef)}",
        f"rho {_text(-expansion.intercept)}",
        f"label {' '.join(map(str, names))}",
        f"nr_sv {' '.join(map(str, counts))}",
    ]
    return lines, expansion.rows[order], arranged


def _text(numbers: np.ndarray) -> str:
    return " ".join(map(repr, numbers.tolist()))
