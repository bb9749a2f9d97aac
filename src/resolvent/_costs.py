"""What work costs, in one unit: a multiply-add of a compiled sweep, about a nanosecond.

Constants that weigh one kind of work against another are here; others are beside the line that uses
them. Each section names the tables of `benchmarks` that show the effect of its constants; what was
tried beside them is in `benchmarks/results/attempts.md`. The module is below all packages, since
grams, problem and solvers share it.
"""

from __future__ import annotations

# ---- threads and interrupts ----------------------------------------------------------------

# Work that is worth more than one thread: to start and join them takes some 8 microseconds, and
# products with the sparse rows of w8a are faster in threads from here on. Rows of K, of 100,000 to
# 300,000 multiply-adds, take 6 to 27 microseconds in one thread.
THREADS_FROM = 200_000
# One stretch of compiled updates, about 50 ms: Python sees Ctrl-C, time limits and other threads in
# between.
STRETCH = 30_000_000
# One iteration of greedy blocks, about a millisecond at most: the interpreter takes a tenth of that
# to go on ("small").
ITERATION = 3e6

# ---- greedy blocks: "svm" and "svr" ----------------------------------------------------------

UPDATE = 8.0  # an update within a block, for each coordinate of the block, or more
BLOCK_PASS = 3e4  # choosing a block and setting it up, however small it is
# Work within blocks before the first look for a step on all free coordinates, and from one to the
# next, or less where K is so small that such a step costs next to nothing: in units of its entries.
# How many times faster a flop is in its factorisation than in blocks.
FREE_STEP_FROM = 1e7
FREE_STEP_ENTRIES = 300.0
FREE_STEP_SPEED = 64.0

# ---- Newton steps: "linear" and "svr" --------------------------------------------------------

BLAS3 = 16.0  # how many times faster a flop is in a factorisation than in a sweep
NEWTON_PRODUCTS = 4.0  # products with K in each Newton step, beside its system
NEWTON_MOST = 2e10  # a Newton step that helps another solver, at most: half a second
NEWTON_SWEEPS = 20.0  # sweeps that a Newton step may cost where it is the solver
TRIFLE = 5e7  # nobody notices: Newton steps that finish what is good enough already
TRIFLING_PRODUCT = 2e4  # a product with K so small that they finish every fit

# ---- splitting, for many problems on one matrix: "model_selection" ----------------------------

SPLITTING_INVERSE = 0.25  # times n^3
SPLITTING_PRODUCTS = 15.0  # times n^2 for each problem


def worth_threads(work: float) -> bool:
    """Whether so much work is done sooner by several threads."""
    return work > THREADS_FROM
