"""Converters to ONNX, registered with skl2onnx when this module is imported.

    import resolvent.onnx
    from skl2onnx import to_onnx

    to_onnx(model, X[:1], options={"zipmap": False})

The graph computes in double precision whatever the type of its input, by operators of the core set,
which have it; onnxruntime's own operators for support vector machines have single precision only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from resolvent.estimators.classes import pairs
from resolvent.estimators.classifier import KernelClassifier, MachineClassifier
from resolvent.estimators.expansion import split_bias
from resolvent.estimators.linear import LinearClassifier, LinearMachine, LinearRegressor
from resolvent.estimators.quantile import KernelQuantileRegressor
from resolvent.estimators.regressor import KernelRegressor
from resolvent.estimators.ridge import KernelRidge
from resolvent.estimators.svc import SupportVectorClassifier
from resolvent.kernels import RBF, Linear, Polynomial, Sigmoid
from resolvent.losses import as_loss
from resolvent.svm import SVC, SVR, LinearSVC, LinearSVR, NuSVC, NuSVR, OneClassSVM

try:
    from skl2onnx import update_registered_converter
    from skl2onnx.algebra import onnx_ops as ops
    from skl2onnx.common.data_types import (
        DoubleTensorType,
        FloatTensorType,
        Int64TensorType,
        StringTensorType,
    )
except ImportError as error:
    raise ImportError("resolvent.onnx needs skl2onnx: pip install 'resolvent[onnx]'.") from error

__all__ = ["ESTIMATORS"]

CLASSIFIERS = (KernelClassifier, LinearClassifier, SVC, NuSVC, LinearSVC)
REGRESSORS = (KernelRegressor, LinearRegressor, KernelQuantileRegressor, KernelRidge, SVR, NuSVR)
ESTIMATORS = (*CLASSIFIERS, *REGRESSORS, LinearSVR, OneClassSVM)

FLOAT, DOUBLE, INT64 = 1, 11, 7  # the numbers of types in ONNX


class Graph:
    """Operators of one version of ONNX on double precision."""

    def __init__(self, version: int) -> None:
        self.version = version

    def __getattr__(self, name: str) -> Any:
        operator = getattr(ops, f"Onnx{name}")

        def apply(*args: Any, **options: Any) -> Any:
            inputs = [np.array([a]) if isinstance(a, float) else a for a in args]
            return operator(*inputs, op_version=self.version, **options)

        return apply

    def sum_rows(self, x: Any) -> Any:
        """Sum over columns, and keep one."""
        return self.ReduceSum(x, np.array([1], np.int64), keepdims=1)


# ---- scores -------------------------------------------------------------------------------------


def _kernel_matrix(g: Graph, kernel: Any, X: Any, rows: np.ndarray) -> Any:
    """Kernel of the samples X with the support vectors."""
    match kernel:
        case RBF():
            centre = rows.mean(axis=0)  # distances lose less to rounding near the origin
            rows = rows - centre
            x = g.Sub(X, centre[None])
            squares = g.Add(g.sum_rows(g.Mul(x, x)), (rows**2).sum(axis=1)[None])
            distances = g.Sub(squares, g.MatMul(x, 2.0 * rows.T.copy()))
            return g.Exp(g.Mul(g.Max(distances, np.zeros(1)), -kernel.gamma))
        case Polynomial() | Sigmoid():
            # gamma is in the matrix: onnxruntime would round a factor of a product to float32.
            inner = g.Add(g.MatMul(X, kernel.gamma * rows.T), kernel.coef0)
            if isinstance(kernel, Sigmoid):
                return g.Tanh(inner)
            return g.Pow(inner, float(kernel.degree))
    raise NotImplementedError(
        f"The kernel {kernel!r} cannot be converted to ONNX; linear, rbf, poly and sigmoid can."
    )


def _scores(g: Graph, model: Any, X: Any) -> Any:
    """Scores of all problems, one column each."""
    if isinstance(model, LinearMachine):
        coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
        return g.Add(g.MatMul(X, coef.T.copy()), intercept[None])
    expansion = model._expansion
    kernel = expansion.kernel
    if isinstance(kernel, Linear):
        weights, intercept = split_bias(expansion.weights, expansion.intercept, kernel.bias)
        return g.Add(g.MatMul(X, weights.T.copy()), intercept[None])
    if len(expansion.coef) == 0:
        return g.Add(g.MatMul(X, np.zeros((model.n_features_in_, 1))), expansion.intercept[None])
    rows = expansion.rows
    if kernel is not None:
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        rows = np.asarray(rows, np.float64)
        K = _kernel_matrix(g, kernel, X, rows)
    else:
        K = g.Gather(X, rows.astype(np.int64), axis=1)
    return g.Add(g.MatMul(K, np.asarray(expansion.coef, np.float64)), expansion.intercept[None])


def _with_link(g: Graph, loss: Any, scores: Any) -> Any:
    name = type(loss).__name__
    if "inverse_link" not in vars(type(loss)):
        return scores
    if name in ("Poisson", "Gamma", "Tweedie"):
        return g.Exp(scores)
    raise NotImplementedError(f"The link of the loss {name} cannot be converted to ONNX.")


# ---- classes ------------------------------------------------------------------------------------


def _decide(g: Graph, model: Any, scores: Any) -> tuple[Any, Any]:
    """Give votes, whose largest entry is the class, and one value for each class."""
    k = len(model.classes_)
    ovo = isinstance(model, SupportVectorClassifier) or getattr(model, "multi_class", "") == "ovo"
    together = getattr(as_loss(getattr(model, "loss", "hinge")), "couples", "") == "columns"
    if k == 2 and together and not isinstance(model, LinearSVC):
        scores = g.MatMul(scores, np.array([[-1.0], [1.0]]))
    if k == 2:
        both = g.MatMul(scores, np.array([[-1.0, 1.0]]))
        return both, both
    if not ovo:
        return scores, scores
    table = pairs(k)
    votes, lost, sums = np.zeros((3, len(table), k))
    for p, (i, j) in enumerate(table):
        votes[p, i], lost[p, j], sums[p, i], sums[p, j] = 1.0, 1.0, 1.0, -1.0
    won = g.Cast(g.Greater(scores, np.zeros(1)), to=DOUBLE)
    counts = g.Add(g.MatMul(won, votes - lost), lost.sum(axis=0)[None])
    total = g.MatMul(scores, sums)
    decision = g.Add(counts, g.Div(total, g.Mul(g.Add(g.Abs(total), 1.0), 3.0)))
    by_votes = isinstance(model, SupportVectorClassifier) and not model.break_ties
    return (counts if by_votes else decision), decision


def _probabilities(g: Graph, model: Any, scores: Any, decision: Any) -> Any:
    """Probabilities if the model has them, otherwise None."""
    if isinstance(model, SupportVectorClassifier):
        if model._probA.size == 0:
            return None
        if len(model.classes_) > 2:
            raise NotImplementedError(
                "The coupled probabilities of several classes cannot be converted to ONNX: fit "
                "with probability=False, or use KernelClassifier(loss='logistic')."
            )
        A, B = float(model._probA[0]), float(model._probB[0])
        first = g.Sigmoid(g.Add(g.Mul(scores, A), -B))  # of the first class, whose score is -s
        return g.Concat(first, g.Sub(np.ones((1, 1)), first), axis=1)
    if not hasattr(model, "predict_proba"):
        return None
    name = type(as_loss(model.loss)).__name__
    if name == "Multinomial":
        return g.Softmax(g.Mul(decision, 0.5) if len(model.classes_) == 2 else decision, axis=1)
    if name != "Logistic":
        raise NotImplementedError(f"Probabilities of the loss {name} cannot be converted to ONNX.")
    odds = g.Sigmoid(decision)
    return g.Div(odds, g.sum_rows(odds))


# ---- what skl2onnx calls ------------------------------------------------------------------------


def _input(g: Graph, operator: Any) -> Any:
    return g.Cast(operator.inputs[0], to=DOUBLE)


def _output(g: Graph, operator: Any, number: int, value: Any) -> Any:
    """Give a value its name, in the type of the input."""
    double = isinstance(operator.inputs[0].type, DoubleTensorType)
    names = [operator.outputs[number]]
    return g.Cast(value, to=DOUBLE if double else FLOAT, output_names=names)


def _convert_classifier(scope: Any, operator: Any, container: Any) -> None:
    g, model = Graph(container.target_opset), operator.raw_operator
    zipped = scope.get_options(model, {"zipmap": True})["zipmap"]
    if zipped is not False and isinstance(operator.inputs[0].type, DoubleTensorType):
        raise ValueError(
            "ONNX's operator ZipMap takes single precision only: convert with "
            "options={'zipmap': False}, or for float32 input."
        )
    scores = _scores(g, model, _input(g, operator))
    votes, decision = _decide(g, model, scores)
    index = g.ArgMax(votes, axis=1, keepdims=0)
    labels = model.classes_
    labels = labels.astype(str) if labels.dtype.kind in "OUS" else labels.astype(np.int64)
    g.Gather(labels, index, axis=0, output_names=[operator.outputs[0]]).add_to(scope, container)
    probabilities = _probabilities(g, model, scores, decision)
    value = decision if probabilities is None else probabilities
    _output(g, operator, 1, value).add_to(scope, container)


def _convert_regressor(scope: Any, operator: Any, container: Any) -> None:
    g, model = Graph(container.target_opset), operator.raw_operator
    scores = _scores(g, model, _input(g, operator))
    if isinstance(model, KernelQuantileRegressor) and np.ndim(model.quantile) == 1:
        n = len(model.quantile)
        ranks = np.argsort(np.argsort(np.asarray(model.quantile), kind="stable"))
        rising = g.TopK(scores, np.array([n], np.int64), axis=1, largest=0, sorted=1)[0]
        scores = g.Gather(rising, ranks.astype(np.int64), axis=1)
    elif hasattr(model, "_loss"):
        scores = _with_link(g, model._loss, scores)
    _output(g, operator, 0, scores).add_to(scope, container)


def _convert_one_class(scope: Any, operator: Any, container: Any) -> None:
    g, model = Graph(container.target_opset), operator.raw_operator
    scores = _scores(g, model, _input(g, operator))
    inside = g.Cast(g.Greater(scores, np.zeros(1)), to=INT64)
    two, one = np.array([2], np.int64), np.array([1], np.int64)
    label = g.Sub(g.Mul(inside, two), one, output_names=[operator.outputs[0]])
    label.add_to(scope, container)
    _output(g, operator, 1, scores).add_to(scope, container)


def _shapes(operator: Any) -> None:
    """Set the types and shapes of the outputs."""
    model, given = operator.raw_operator, operator.inputs[0].type
    real = DoubleTensorType if isinstance(given, DoubleTensorType) else FloatTensorType
    n = given.shape[0]
    if isinstance(model, MachineClassifier):
        words = model.classes_.dtype.kind in "OUS"
        operator.outputs[0].type = (StringTensorType if words else Int64TensorType)([n])
        operator.outputs[1].type = real([n, len(model.classes_)])
    elif isinstance(model, OneClassSVM):
        operator.outputs[0].type = Int64TensorType([n, 1])
        operator.outputs[1].type = real([n, 1])
    else:
        operator.outputs[0].type = real([n, len(np.atleast_1d(model.intercept_))])


def _register() -> None:
    for cls in ESTIMATORS:
        convert, options = _convert_regressor, None
        if issubclass(cls, MachineClassifier):
            convert = _convert_classifier
            options = {"zipmap": [True, False, "columns"], "nocl": [True, False]}
        elif cls is OneClassSVM:
            convert = _convert_one_class
        update_registered_converter(
            cls, f"Resolvent{cls.__name__}", _shapes, convert, options=options
        )


_register()
