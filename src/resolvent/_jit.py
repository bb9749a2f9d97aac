"""Binding of losses and kernel panels, which are NamedTuples, into compiled loops.

A loss or a panel is a NamedTuple whose methods are plain scalar Python. The generic functions
below call those methods, interpreted (``value(loss, y, z)`` is ``loss.value(y, z)``) and, through
Numba's ``@overload``, inside compiled code, where the method of the tuple's class is compiled
into the loop. So a loop is written once and works for every loss and every panel.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numba
import numpy as np
from numba.extending import intrinsic, overload, register_jitable

from resolvent import _numeric
from resolvent._digest import digest_of
from resolvent._pipeline import LoopCompiler, PartCompiler

__all__ = [
    "any_order",
    "axpy",
    "bits_of",
    "borrowed",
    "compiled",
    "conjugate",
    "dot",
    "inner",
    "inverse_link",
    "is_own",
    "plain",
    "resolvent",
    "response",
    "slope",
    "unowned",
    "value",
]

# Nothing here is called from C, and methods of a tuple only by loops: without the entry points for
# other callers they compile in less time.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "no_cfunc_wrapper": True,
}
# A function is compiled once for each set of options that it is called with: there is one for all.
INNER: Any = {**OPTIONS, "no_cpython_wrapper": True, "pipeline_class": PartCompiler}
LOOP: dict[str, Any] = {**OPTIONS, "pipeline_class": LoopCompiler}
# Functions that only compiled code calls as such: to Python they stay what they are.
inner = register_jitable(**INNER)
any_order = register_jitable(**INNER | {"fastmath": {"contract", "reassoc"}})  # of sums


def _absent(obj: Any, *args: Any) -> Any:
    raise TypeError("the class lacks a method that is needed here")


def generic(name: str, default: Callable[..., Any] = _absent, **options: Any) -> Callable[..., Any]:
    """Make ``f(obj, *args)``, which is ``obj.name(*args)`` in Python and in compiled code.

    `default` is a function of the same arguments that stands in where the class has no such
    method, `options` are for compiling it.
    """

    def function(obj: Any, *args: Any) -> Any:
        return getattr(type(obj), name, default)(obj, *args)

    def bind(obj: Any, *args: Any) -> Callable[..., Any]:
        method = numba.njit(**INNER | options)(getattr(obj.instance_class, name, default))

        def call(obj: Any, *args: Any) -> Any:
            return method(obj, *args)

        return call

    overload(function, jit_options=INNER)(bind)
    return function


# Of a loss. Only value() is required together with either derivative() or both of the others.
value = generic("value")
derivative = generic("derivative")
_root = inner(_numeric.root_from(derivative, inner(_numeric.bisect)))
conjugate = generic("conjugate", _numeric.conjugate_from(value, derivative, _root))
resolvent = generic("resolvent", _numeric.resolvent_from(derivative, _root))
slope = generic("slope", _numeric.slope_from(resolvent))
response = generic("response", _numeric.response_from(resolvent, slope))  # both

inverse_link = generic("inverse_link")


def unowned(array: Any) -> Any:
    """View of an array that somebody else keeps alive, for loops that pass it on very often.

    Numba counts references at each call of a function, and threads that share an array do so at one
    place in memory. Of memory that nobody owns there is nothing to count.
    """
    return array


@intrinsic
def _without_owner(_: Any, array: Any) -> Any:
    def view(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        struct = context.make_array(signature.args[0])(context, builder, args[0])
        for field in ("meminfo", "parent"):
            setattr(struct, field, getattr(struct, field).type(None))
        return struct._getvalue()

    return array(array), view


@overload(unowned)
def _unowned(array: Any) -> Callable[[Any], Any]:
    def call(array: Any) -> Any:
        return _without_owner(array)  # type: ignore[call-arg]  # Numba adds the context

    return call


def bits_of(x: Any) -> Any:
    """Return the bits of a float64 as an integer; views of arrays take long to compile."""
    return np.float64(x).view(np.int64)


@intrinsic
def _bits(_: Any, x: Any) -> Any:
    def cast(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(signature.return_type))

    return numba.int64(numba.float64), cast


@overload(bits_of, jit_options=INNER)
def _bits_of(x: Any) -> Callable[[Any], Any]:
    def call(x: Any) -> Any:
        return _bits(x)  # type: ignore[call-arg]  # Numba adds the context

    return call


# Of a panel, which gives access to some rows of the kernel matrix (see resolvent.grams). To hand
# over its arrays takes about as long as a short row does, hence they are compiled into the caller.
dot = generic("dot", forceinline=True)
axpy = generic("axpy", forceinline=True)
borrowed = generic("borrowed", lambda panel: panel)  # the same, its arrays unowned


def _save(file: Any, key: Any, data: Any) -> None:
    """Keep machine code on disk under a name of its own for each signature, and list it then.

    Numba lists it first, under the next number that is free. Two processes that compile at once may
    take the same number for two signatures, and one of them would run the code of the other.
    """
    digest = hashlib.sha256(str(key).encode()).hexdigest()[:16]
    name = file._index_name.replace(".nbi", f".{digest}.nbc")
    file._save_data(name, data)
    file._save_index({**file._load_index(), key: name})


OWN: set[type] = set()  # classes of losses that have shown to be the package's own


class compiled:
    """Compile a loop whose first argument is a loss.

    Machine code for the package's own losses is kept on disk. Numba looks only at the file of the
    loop to decide whether that code is still good, so (1) the version it compares, before it reads
    anything that may name a class of before, has a digest of all source that the loop can reach,
    and (2) a user's loss, which may be edited at any time, is compiled afresh in each process.
    """

    def __init__(self, loop: Callable[..., Any]) -> None:
        self.fresh: dict[Any, Any] = {}
        try:
            self.cached: Any = numba.njit(cache=True, **LOOP)(loop)
        except RuntimeError:  # no writable place for the cache: go without
            self.cached = numba.njit(**LOOP)(loop)
        else:
            cache: Any = getattr(self.cached, "_cache", None)  # None under NUMBA_DISABLE_JIT
            if cache is not None:
                file = cache._cache_file
                digest = digest_of(loop.__module__)
                file._version, file._source_stamp = f"{file._version} {digest}", None
                file.save = partial(_save, file)
        self.__doc__ = loop.__doc__
        self.__name__ = loop.__name__
        self.py_func = loop

    def __call__(self, loss: Any, *args: Any) -> Any:
        if is_own(loss):
            return self.cached(loss, *args)
        # A dispatcher knows a NamedTuple by the name of its class, and would take a class that is
        # defined anew for the old one; the type knows the class itself.
        key: Any = numba.typeof(loss)  # type: ignore[no-untyped-call] # Numba has no types
        if key not in self.fresh:
            self.fresh[key] = numba.njit(**LOOP)(self.py_func)
        return self.fresh[key](loss, *args)


def plain(loop: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a loop of arrays alone, kept on disk under the same rules."""
    inner = compiled(loop)
    return inner.cached


def is_own(loss: Any) -> bool:
    """Whether a loss, and each loss inside it, is a class of this package."""
    if type(loss) in OWN:
        return True
    parts = [part for part in loss if isinstance(part, tuple)]
    own = type(loss).__module__.partition(".")[0] == __package__
    if own and not parts:
        OWN.add(type(loss))
    return own and all(map(is_own, parts))
