"""The one outer loop, and what passes between it and the two that it joins.

Steps are a generator that advances a `Point`. It yields None after each piece of bounded work, so
that a time limit or Ctrl-C takes effect soon, and an `Iteration` when one is complete. A `Watch`
measures how far the problems are, and decides which of them stop.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from resolvent.problem import Array, Problem
from resolvent.problem.certificate import Certificate

# Of problems: the certificate of where they stand, with an exact offset, and before it that of a
# point with a lower primal, which steps came across.
Known = Mapping[int, tuple[Certificate, Certificate]]
NOTHING: Known = MappingProxyType({})


class Iteration(NamedTuple):
    """What steps tell of an iteration that is complete."""

    largest: Array  # change of a coefficient, of each problem
    known: Known = NOTHING  # certificates that the steps have computed


Steps = Generator[Iteration | None, None, None]


@dataclass
class Point:
    """Where a solver is: a row for each problem. Solvers advance it in place."""

    coef: Array
    state: Array  # z = Kc or w = X'c, as the gram has it
    intercept: Array
    running: NDArray[np.intp]  # the problems that have not stopped yet
    work: Array  # multiply-adds that went into each

    @classmethod
    def at(cls, problem: Problem, coef: Array, state: Array | None = None) -> Point:
        """Start every problem at `coef`, whose state is computed if it is not known."""
        columns = problem.risk.n_columns
        offsets = np.zeros(problem.m if columns == 1 else (problem.m, columns))
        state = problem.gram.state(coef) if state is None else state
        work = np.zeros(problem.m)
        return cls(coef, state, offsets, np.arange(problem.m), work)

    def move(self, j: int, certificate: Certificate) -> None:
        """Put problem j where `certificate` was given."""
        self.coef[j] = certificate.coef
        self.state[j] = certificate.state
        self.intercept[j] = certificate.intercept

    def stop(self, which: ArrayLike) -> None:
        """Take problems out of the running."""
        self.running = self.running[~np.isin(self.running, which)]


class Watch(ABC):
    """The stopping measure: it takes problems out of `point.running`."""

    @abstractmethod
    def begin(self) -> None:
        """Look at the start."""

    @abstractmethod
    def pause(self) -> None:
        """Take note of time after a piece of work; the point may be halfway through an update."""

    @abstractmethod
    def look(self, iteration: Iteration) -> None:
        """Take note of an iteration."""


def iterate(steps: Callable[[Point], Steps], point: Point, watch: Watch) -> None:
    """Advance `point` by `steps` until `watch` has taken every problem out of the running."""
    watch.begin()
    course = steps(point)
    while len(point.running):
        iteration = next(course)
        if iteration is None:
            watch.pause()
        else:
            watch.look(iteration)
    course.close()  # here: Python ignores an interrupt while it disposes of a generator
