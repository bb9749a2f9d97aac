"""Damaged model files and data files: each is refused with a sentence, or it works.

``python -m tests.campaign.files --seconds 600 --seed 1`` damages files until the time is over, in a
process of its own whose memory is limited, and prints how many there were, and for each failure
the damaged file with the command that tries it again. A failure is an exception that is not one of
the package's, or one after the file was accepted; more memory or time than a file of some kilobytes
can need; a process that dies.
"""

import argparse
import collections
import contextlib
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import psutil
import typer
from scipy.sparse import csr_matrix, issparse
from threadpoolctl import threadpool_limits

import resolvent
from resolvent.cli.models import read_training
from resolvent.cli.scores import describe
from resolvent.io import DataFileError, ModelFileError
from resolvent.io.libsvm import read_libsvm
from resolvent.io.read import read
from resolvent.io.state import extract
from resolvent.tabular import TabularModel
from resolvent.tabular.features import SCALES, Features
from resolvent.tabular.offset import OffsetColumn
from tests.campaign.file_mutations import (
    mutate_bytes,
    mutate_model,
    mutate_npz,
    mutate_text,
)
from tests.campaign.file_seeds import data_seeds, libsvm_seeds, model_seeds

MEMORY = 1 << 30  # bytes that a process may take beyond what it has when it starts
SECONDS = 20  # for one file
SHARES = {"model": 60, "libsvm": 5, "data": 35}


# ---- what is done with a file -------------------------------------------------------------------


class RefusedError(Exception):
    """The file was refused with a sentence."""


@contextlib.contextmanager
def refusal(*kinds):
    """Take these exceptions for the answer; there must be a sentence in them."""
    try:
        yield
    except kinds as error:
        if len(str(error)) < 10:
            raise AssertionError(f"no sentence: {error!r}") from error
        raise RefusedError from None


def use_model(path, rng):
    """Load a model; what loads predicts, can be described and saved again."""
    with refusal(ModelFileError):
        model = resolvent.load(path)
    _use(model, rng)
    extract(getattr(model, "estimator", model))
    known = isinstance(model, TabularModel)
    describe(model if known else TabularModel(model, Features(model.n_features_in_)))


def use_libsvm(path, rng):
    """Read a model of LIBSVM."""
    with refusal(ModelFileError):
        model = read_libsvm(path)
    _use(model, rng)
    extract(model.estimator)


def _use(model, rng):
    estimator = getattr(model, "estimator", model)
    d = estimator.n_features_in_
    if d > 100_000:
        X = csr_matrix((2, d))
    else:
        X = np.random.default_rng(rng.randrange(2**32)).standard_normal((2, d))
        X = csr_matrix(X) if rng.random() < 0.3 and not estimator._is_precomputed() else X
    if not (getattr(estimator, "break_ties", False) and estimator.decision_function_shape == "ovo"):
        assert len(estimator.predict(X)) == 2
    for method in ("decision_function", "predict_proba"):
        if hasattr(estimator, method):
            assert len(getattr(estimator, method)(X)) == 2


def use_data(path, rng, format, features):
    """Read data, learn features from it, and apply those of another file to it."""
    format = rng.choice([format, format, "auto"])
    words, numbers = rng.choice([((), ()), (("zip",), ("age",)), (("colour", "y"), ("size",))])
    with refusal(DataFileError):
        raw = read(path, format, words=words, numbers=numbers, base=rng.choice([None, 0, 1]))
    assert len(raw) > 0
    with contextlib.suppress(DataFileError):
        learned = Features.learn(raw, scale=rng.choice(SCALES), impute=rng.random() < 0.5)
        _check_rows(learned(raw), len(raw))
    with contextlib.suppress(DataFileError):
        _check_rows(features(raw), len(raw))
    with contextlib.suppress(DataFileError, typer.BadParameter):
        options = {"weights": rng.choice([None, "w", "size"]), "drop": [], "categorical": []}
        options |= {"scale": None, "missing": rng.choice(["error", "impute"]), "first_index": None}
        options |= {
            "offset": rng.choice([None, OffsetColumn("size", False), OffsetColumn("age", True)])
        }
        classify = rng.choice([None, True, False])
        target = rng.choice(["y", "age", None])
        read_training(path, format=format, target=target, classify=classify, **options)


def _check_rows(X, n):
    assert X.shape[0] == n
    assert np.isfinite(X.data if issparse(X) else X).all(), "features that are not finite"


# ---- one damaged file ---------------------------------------------------------------------------


class Campaign:
    """Damaged files, each known by a number, and what became of them."""

    def __init__(self, seeds, seed, folder):
        self.seeds, self.seed, self.folder = seeds, seed, Path(folder)
        self.counts = collections.Counter()
        self.failures = {}  # the first of each kind
        self.features = {
            name: Features.learn(self._read(name), impute=True) for name in seeds["data"]
        }

    def _read(self, name):
        path = self.folder / "seed"
        path.write_bytes(self.seeds["data"][name])
        return read(str(path), name.split()[0])

    def damaged(self, index):
        """Kind, seed and content of a damaged file, always the same for a number."""
        rng = random.Random(f"{self.seed} {index}")
        (group,) = rng.choices(list(SHARES), SHARES.values())
        name = rng.choice(list(self.seeds[group]))
        others = list(self.seeds[group].values())
        if group == "model":
            mutate = rng.choice([mutate_bytes, mutate_model, mutate_model, mutate_model])
        elif group == "libsvm" or name in ("svmlight", "csv", "tsv", "csv quoted"):
            mutate = rng.choice([mutate_bytes, mutate_text, mutate_text])
        else:
            mutate = rng.choice([mutate_bytes, mutate_npz]) if name[:3] == "npz" else mutate_bytes
        return group, name, mutate(rng, self.seeds[group][name], others)

    def attempt(self, index, path):
        """Try one file; a failure is noted with its place in the code."""
        group, name, content = self.damaged(index)
        path.write_bytes(content)
        where = self.failure(group, name, path, index)
        self.counts[group, where or "failed"] += 1
        return where

    def use(self, group, name, path, index):
        """Use a file as its kind asks for; returns whether it was refused or used."""
        rng = random.Random(index)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                if group == "data":
                    use_data(str(path), rng, name.split()[0], self.features[name])
                else:
                    (use_model if group == "model" else use_libsvm)(path, rng)
        except RefusedError:
            return "refused"
        return "used"

    def failure(self, group, name, path, index):
        try:
            return self.use(group, name, path, index)
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, KeyboardInterrupt) and not isinstance(error, TooSlow):
                raise
            place = _place(error)
            kept = self.folder / f"failure-{len(self.failures)}"
            if place not in self.failures:
                shutil.copy(path, kept)
                self.failures[place] = f"{group} {name!r}: {place}\n  " + _command(
                    group, name, index, kept
                )
            return None


class TooSlow(KeyboardInterrupt):
    """A file took too long. It is raised by a signal, and nothing may catch it on the way."""


def _place(error):
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "resolvent" in f.filename]
    last = frames[-1] if frames else traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {str(error)[:100]}"


def _command(group, name, index, path):
    which = f"--kind {group} --name '{name}' --index {index}"
    return f"python -m tests.campaign.files --file {path} {which}"


# ---- many ---------------------------------------------------------------------------------------


def make_seeds(names=None):
    """Files to start from, by group; of models those of all cases, or of some."""
    return {"model": model_seeds(names), "libsvm": libsvm_seeds(), "data": data_seeds()}


def run(seeds, seed, folder, *, first=0, count=None, seconds=None, progress=None):
    """Try files from a number on, for so many or so long; returns the campaign."""
    campaign = Campaign(seeds, seed, folder)
    path, end = Path(folder) / "current", time.monotonic() + (seconds or 1e9)
    index = first
    while (count is None or index < first + count) and time.monotonic() < end:
        if progress is not None:
            progress(index, campaign)
        campaign.attempt(index, path)
        index += 1
    return campaign


def _worker(seeds, seed, folder, first, seconds, queue, reached):
    """Run in a process with limited memory, telling how far it got."""

    def alarm(*_):
        raise TooSlow(f"more than {SECONDS} s")

    signal.signal(signal.SIGALRM, alarm)

    def progress(index, campaign):
        reached.value = index
        signal.setitimer(signal.ITIMER_REAL, SECONDS)
        if index == first + 200:  # after libraries and compiled loops are loaded
            limit = psutil.Process().memory_info().vms + MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    with threadpool_limits(1):  # files this small are used faster without other threads
        campaign = run(seeds, seed, folder, first=first, seconds=seconds, progress=progress)
    signal.setitimer(signal.ITIMER_REAL, 0)
    queue.put((campaign.counts, campaign.failures, reached.value + 1))


def run_apart(seed, seconds, folder):
    """Run in processes of their own, a new one whenever one dies; returns counts and failures."""
    seeds = make_seeds()
    context = multiprocessing.get_context("spawn")
    counts, failures, first = collections.Counter(), {}, 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        queue, reached = context.SimpleQueue(), context.Value("q", first)
        left = end - time.monotonic()
        args = (seeds, seed, folder, first, left, queue, reached)
        process = context.Process(target=_worker, args=args)
        process.start()
        process.join(left + 10 * SECONDS)
        if not queue.empty():
            found, failed, first = queue.get()
            counts += found
            failures |= failed
            continue
        process.kill()
        process.join()
        index = reached.value
        kept = Path(folder) / f"death-{index}"
        shutil.copy(Path(folder) / "current", kept)
        group, name, _ = Campaign(seeds, seed, folder).damaged(index)
        what = f"{group} {name!r}: the process ended with {process.exitcode}"
        failures[f"death {index}"] = f"{what}\n  " + _command(group, name, index, kept)
        counts[group, "failed"] += 1
        counts["lost with a process", ""] += index - first
        first = index + 1
    return counts, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--file", help="try this file alone, without catching anything")
    parser.add_argument("--kind", choices=list(SHARES))
    parser.add_argument("--name", help="the file that it was made from")
    parser.add_argument("--index", type=int, default=0)
    args = parser.parse_args()
    if args.file:
        seeds = make_seeds() if args.kind == "data" else {"data": {}}
        with tempfile.TemporaryDirectory() as folder:
            campaign = Campaign(seeds, args.seed, folder)
            print(campaign.use(args.kind, args.name, Path(args.file), args.index))
        return 0
    folder = tempfile.mkdtemp(
        prefix="campaign-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None
    )
    began = time.monotonic()
    counts, failures = run_apart(args.seed, args.seconds, folder)
    total, taken = sum(counts.values()), time.monotonic() - began
    print(f"{total:,} damaged files in {taken:.0f} s, seed {args.seed}:")
    for (group, what), n in sorted(counts.items()):
        print(f"  {group:<8} {what:<8} {n:>9,}")
    for text in failures.values():
        print(text)
    if not failures:
        shutil.rmtree(folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
