"""How Numba compiles the loops: only a loop becomes machine code, not each of its functions too.

Left to itself Numba assembles every function, together with all that it calls, although the loop
has copies of them all: what is five calls deep is assembled six times.
"""

# mypy: allow-untyped-calls
# Numba has no types.

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

__all__ = ["LoopCompiler", "PartCompiler"]


class _Part(JITCodeLibrary):
    """Code of a function that only compiled code calls, which is never assembled by itself.

    So there is no address, neither of the function nor of its environment,
    which is for Python objects; a loop read from the cache does without them too.
    """

    def finalize(self) -> None:
        """Add the functions that are called, and optimise."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            if hasattr(self, "_reload_init"):  # from Numba 0.61 on
                self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._optimize_final_module()
        self._finalize_dynamic_globals()
        self._finalized = True

    def _optimize_functions(self, ll_module: Any) -> None:
        """Optimise nothing yet: what follows does so too."""
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Inline, and drop counts of references; the loop is optimised fully with its parts."""
        if hasattr(self._codegen, "_mpm_cheap"):  # before Numba 0.62
            self._codegen._mpm_cheap.run(self._final_module)
            return
        manager, builder = self._codegen._module_pass_manager(
            loop_vectorize=False, opt=self._codegen._opt_level, cost="cheap"
        )
        manager.run(self._final_module, builder)

    def get_pointer_to_function(self, name: str) -> int:
        """Tell that there is no such address."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        """What is asked to `set_env`."""
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Set no environment."""


class PartCompiler(Compiler):
    """Compiles functions that only compiled code calls."""

    def define_pipelines(self) -> Any:
        """Give the usual passes a library that is not assembled."""
        self.state.library = _Part(self.state.targetctx.codegen(), "part")
        return super().define_pipelines()


class LoopCompiler(Compiler):
    """Compiles loops, without the garbage collector, which takes a fifth of that time."""

    def compile_extra(self, func: Any) -> Any:
        """Compile, with all that is called."""
        with _no_collections():
            return super().compile_extra(func)


_lock, _pausing = Lock(), [0]


@contextmanager
def _no_collections() -> Iterator[None]:
    """Pause the garbage collector, in the time that any thread is in here."""
    with _lock:
        if not _pausing[0] and not gc.isenabled():
            pauses = False
        else:
            pauses = True
            _pausing[0] += 1
            gc.disable()
    try:
        yield
    finally:
        if pauses:
            with _lock:
                _pausing[0] -= 1
                if not _pausing[0]:
                    gc.enable()
