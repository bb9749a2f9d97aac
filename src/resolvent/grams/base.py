"""The interface through which everything else sees the kernel matrix K."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from resolvent.grams.systems import EPS, Curvature, Direction, bordered, coupled_move, inverse

if TYPE_CHECKING:
    from resolvent.grams.linear import LinearGram
    from resolvent.grams.rows import RowGram

__all__ = ["Chunk", "Gram"]


class Chunk:
    """Some coordinates, the panel that is good for them, and the multiply-adds of a visit."""

    def __init__(self, part: np.ndarray, panel: Any, visit: int) -> None:
        self.part, self.panel, self.visit = part, panel, visit

    def enter(self, coef: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Give the states that the panel works on; a row for each row of coefficients."""
        return states

    def leave(self, coef: np.ndarray, states: np.ndarray) -> None:
        """Bring the states up to date, now that coefficients have moved."""


class Gram(ABC):
    """A symmetric positive semidefinite n x n matrix K, however it is stored or computed.

    Solvers keep a *state*, from which the scores z = K c follow at once: z itself where rows of K
    are at hand, w = X'c for a linear kernel (Algorithms 1 and 2 of the paper). Sums are in float64
    whatever the precision of K.

    A solver that sees K only through products needs `product`; one that moves single coordinates
    takes them from `chunks`, which gives coordinates together with a *panel*, a NamedTuple with two
    methods that compile (call them by `resolvent._jit.dot` and `axpy`):

    ``dot(state, i)``
        the score z_i, from the state, a float64 vector;
    ``axpy(state, i, h)``
        the move c_i += h: the state changes in place.

    A panel is good for the coordinates that came with it, until the next ones come, and works on
    the states that ``chunk.enter`` gives; ``chunk.leave`` brings all states up to date.

    Attributes
    ----------
    n : int
        Number of coordinates.
    dtype : numpy dtype
        Precision of the values of K, or of X: float32 or float64.
    diagonal : ndarray of shape (n,)
        Diagonal of K in float64: finite, not negative.
    row_cost : int
        Multiply-adds of one coordinate update.
    noise : float
        Relative error of a value of K from one access to the next: 0 where K is stored or exact,
        the rounding of `dtype` where it is computed again, in products of other shapes.
    scores_at_hand : bool
        Whether the state is the scores.
    is_elsewhere : bool
        Whether others compute products, beside which a certificate costs nothing. How long they
        take is of no influence on a fit, so that it can be repeated to the bit.
    working_space : float
        Bytes, at most, that matrices of a solver may take beside rows of K.
    landmarks : ndarray of shape (rank,) or None
        Samples whose kernel functions span all functions, as indices, or -1 for each that is none
        of the samples; None where all samples do.
    """

    n: int
    dtype: np.dtype[Any]
    diagonal: np.ndarray
    row_cost: int
    noise: float = 0.0
    scores_at_hand: bool = False
    is_elsewhere: bool = False
    working_space: float = math.inf
    landmarks: Any = None

    @property
    def rows(self) -> RowGram | None:
        """Access to rows of K, where they are at hand or can be computed."""
        return None

    @property
    def factor(self) -> LinearGram | None:
        """K as XX', where it is held as X: then no rounding makes it indefinite."""
        return None

    @property
    def factored(self) -> bool:
        """Whether K is held as X."""
        return self.factor is not None

    @property
    def trace(self) -> float:
        """Sum of the diagonal, an upper bound of the spectral norm of K."""
        return float(self.diagonal.sum())

    @property
    def sweep_cost(self) -> float:
        """Multiply-adds of an update of every coordinate, or of a product with K."""
        return float(self.n) * self.row_cost

    @abstractmethod
    def state(self, coef: np.ndarray) -> np.ndarray:
        """State of each row of coefficients: (m, n) -> a new C-contiguous (m, p), float64.

        Only the rows of K that belong to nonzero coefficients are used.
        """

    def recomputes(self, coef: np.ndarray) -> bool:
        """Whether the state of these coefficients needs rows of K that are no longer at hand."""
        return False

    @abstractmethod
    def scores(self, state: np.ndarray) -> np.ndarray:
        """Scores z = K c of each row of a state: (m, p) -> (m, n). It may be the state itself."""

    def product(self, coef: np.ndarray) -> np.ndarray:
        """Scores z = K c of each row of coefficients: (m, n) -> (m, n), float64."""
        return self.scores(self.state(coef))

    @abstractmethod
    def chunks(self, order: np.ndarray) -> Iterator[Chunk]:
        """Cut a sequence of coordinates into parts of bounded work, each with its panel."""

    @abstractmethod
    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Submatrix of K as a new float64 array."""

    def dense(self, most: int) -> np.ndarray | None:
        """K as one array of float64 that is only read; None where it is not formed.

        That is for more than `most` coordinates, too little memory, or a linear kernel.
        """
        return None

    def features(self, elements: int, columns: int) -> np.ndarray | None:
        """X, where K is held as XX', as an array of float64 that is only read.

        None for more than so many elements or columns.
        """
        return None

    def has_room_for(self, matrices: int, n: int) -> bool:
        """Whether so many matrices of n coordinates can be at hand at a time."""
        return True

    @abstractmethod
    def restricted(self, rows: np.ndarray) -> Gram:
        """Matrix of some of the coordinates, given by their indices in order."""

    def inner(self, coef: np.ndarray, state: np.ndarray, other: np.ndarray) -> float:
        """Inner product c'Kd, given c, its state, and the state of d."""
        return float(coef @ other)

    def residual(self, coef: np.ndarray, state: np.ndarray, aim: np.ndarray) -> np.ndarray:
        """State of the coefficients `aim` minus that of `coef`, which is `state`."""
        return self.state((aim - coef)[None])[0]

    def rounding(self, coef: np.ndarray, state: np.ndarray) -> float:
        """How far the errors of scores, computed from coefficients or a state, may move c'z.

        Those of their terms c_j k_ij, half an ulp each, and of the values of K, are not all of one
        sign.
        """
        return (0.5 * EPS + self.noise) * float(coef**2 @ self.diagonal)

    def score_errors(self, coef: np.ndarray, state: np.ndarray) -> np.ndarray:
        """Errors of the scores that rounding may make, one for each coordinate.

        The terms of sum_j c_j k_ij are at most |c_j| sqrt(k_ii k_jj), and their errors, half an ulp
        each, are independent.
        """
        size = 0.5 * EPS * math.sqrt(float(coef**2 @ self.diagonal))
        return size * np.sqrt(self.diagonal)

    def centred(self) -> Gram:
        """Give a matrix K + u1' + 1u' that is as good where coefficients sum to zero, or better."""
        return self

    def shift(self, state: np.ndarray) -> Any:
        """How far the scores of a state are below those that the matrix before `centred` gives."""
        return 0.0

    def linearised(
        self,
        coef: np.ndarray,
        aim: np.ndarray,
        ahead: np.ndarray,
        curvature: Curvature,
        balanced: bool,
    ) -> Direction:
        """Solve x + W (K x + b) = aim - coef for the change x, a Newton step's equation.

        W is the curvature, `ahead` the state of aim - coef. If `balanced`, b is such that coef + x
        sums to zero, otherwise b = 0. Coordinates of weight zero just move to their aim; the others
        share one positive definite system.
        """
        if curvature.bend is not None:
            return self._coupled_move(coef, aim, ahead, curvature, balanced)
        weight = curvature.weight
        move, shift = aim - coef, 0.0
        free = np.flatnonzero(weight)
        if len(free):
            ridge = 1.0 / weight[free]
            wanted = move[free] * ridge
            move[free] = 0.0
            right = wanted - self.product(move[None])[0][free]
            system = self.block(free, free)
            system[np.diag_indices_from(system)] += ridge
            solve = inverse(system)
            if balanced:
                missing = -float(coef.sum() + move.sum())
                move[free], shift = bordered(solve, right, np.ones(len(free)), 0.0, missing)
            else:
                move[free] = solve(right)
        change = self.state(move[None])
        return Direction(move, change[0], self.scores(change)[0], shift)

    def _coupled_move(
        self,
        coef: np.ndarray,
        aim: np.ndarray,
        ahead: np.ndarray,
        curvature: Curvature,
        balanced: bool,
    ) -> Direction:
        border = self.offset_columns()[:, : None if balanced else 0]
        move, shift = coupled_move(
            self.block,
            curvature,
            aim - coef,
            self.scores(ahead[None])[0],
            border,
            border.T @ aim,
        )
        change = self.state(move[None])
        b = shift if border.shape[1] > 1 else float(shift.sum())
        return Direction(move, change[0], self.scores(change)[0], b)

    def offset_columns(self) -> np.ndarray:
        """Scores that each offset adds, as columns."""
        return np.ones((self.n, 1))

    def linearised_cost(self, free: int, is_smooth: bool = False) -> float:
        """Multiply-adds of a factorisation for that many coordinates of positive weight.

        If the loss is smooth, the weights are its own curvature.

        Infinite where its matrices, three at a time, would take too much memory.
        """
        if 3 * free**2 * np.float64().itemsize > self.working_space:
            return math.inf
        return free**2 * (free / 3.0 + self.row_cost)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n={self.n}, dtype={self.dtype})"


def checked_diagonal(diagonal: np.ndarray) -> np.ndarray:
    """Return the diagonal in float64, or say why it is not that of a kernel matrix."""
    diagonal = np.array(diagonal, np.float64)
    if not np.isfinite(diagonal).all():
        i = int(np.flatnonzero(~np.isfinite(diagonal))[0])
        raise ValueError(f"K[{i}, {i}] is {diagonal[i]}: scale the data so that K stays finite.")
    if diagonal.min() < 0:
        i = int(diagonal.argmin())
        raise ValueError(
            f"K[{i}, {i}] is {diagonal[i]:.6g}, but the diagonal of a positive semidefinite matrix "
            "is not negative: use another kernel, or other parameters of it."
        )
    return diagonal


def read_only(array: np.ndarray) -> np.ndarray:
    """View of an array that cannot be written to.

    Numba compiles a loop anew for arrays that cannot be written to, such as memory maps; showing it
    only such arrays leaves one version.
    """
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view
