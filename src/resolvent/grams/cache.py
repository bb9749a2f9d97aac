"""Rows of K in a fixed amount of memory, for several threads at once."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any
from weakref import ref

import numpy as np

from resolvent.grams.base import read_only

__all__ = ["RowCache"]

PASSING = 0  # stamp of a row that nobody is expected to come back to soon


class Lease:
    """Slots whose rows stay as they are while an array that was made of the lease is referenced.

    It is the base of that array, and so lives as long as the array and all its views.
    """

    __slots__ = ("__array_interface__", "__weakref__", "memory", "slots")

    def __init__(self, memory: np.ndarray, slots: np.ndarray) -> None:
        self.memory, self.slots = memory, slots
        self.__array_interface__ = memory.__array_interface__


class RowCache:
    """A fixed number of slots, each with room for a row.

    Rows are handed out as the array of all slots with a map from rows to slots, -1 for those that
    are not shown. What the map shows is valid for as long as the array, or a view of it, is
    referenced: rows are only ever written to slots that no such array shows. The map is the
    caller's own. Nothing has to be released, and nothing is waited for but the lock, under which
    there is only bookkeeping: rows are computed outside it, in slots that are already held.

    Parameters
    ----------
    slots, n : int
        Number of slots and length of a row.
    dtype : numpy dtype
        Precision.
    spare : int
        Slots that are left to others by whoever is shown all that is at hand, and to rows in
        passing; 0 if there is a slot for every row.
    """

    def __init__(self, slots: int, n: int, dtype: np.dtype[Any], spare: int) -> None:
        self._memory = np.empty((slots, n), dtype)  # not touched before it is used
        self._shown = read_only(self._memory)
        self.capacity = slots - spare
        self._fits = spare == 0
        self._lock = Lock()
        self._slot = np.full(n, -1, np.int64)  # where a row is, -1 if it is not here
        self._owner = np.full(slots, -1, np.int64)  # whose row is in a slot, -1 if nobody's
        self._stamp = np.zeros(slots, np.int64)  # when it was last asked for, or PASSING
        self._time = PASSING
        self._touched = 0  # slots that were ever used, the first ones
        self._leases: list[ref[Lease]] = []
        # Slots and map of all rows that are here, if there is a slot for each; None if unknown.
        self._all: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def count(self) -> int:
        """How many slots are in use."""
        return self._touched

    def where(self, index: np.ndarray) -> np.ndarray:
        """Where rows are at the moment, -1 if they are not here; others may replace them."""
        with self._lock:
            return self._slot[index]

    def hold(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Hold those of the rows that are here: all slots, and where each of `index` is, or -1."""
        with self._lock:
            self._leases = [lease for lease in self._leases if lease() is not None]
            where = self._slot[index]
            return self._lend(where[where >= 0]), where

    def fetch(
        self,
        index: np.ndarray,
        most: int,
        compute: Callable[[np.ndarray, np.ndarray, np.ndarray], None],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Hold the rows `index`; those that are not here are computed.

        If `most` is 0, they are visited in passing: rows that came first stay, and of others only
        `index` is shown. Otherwise all rows are shown that can be, and beyond `most` slots those
        that were asked for longest ago make room.

        ``compute(rows, out, where)`` puts rows into out[where].
        """
        with self._lock:
            self._time += 1
            self._leases = [lease for lease in self._leases if lease() is not None]
            where = self._slot[index]
            there, new = where[where >= 0], index[where < 0]
            if len(new):
                new = np.unique(new)
            elif self._all is not None:
                self._stamp[there] = self._time
                return self._lend(self._all[0]), self._all[1]
            places = self._vacate(len(new), there, most)
            if places is None:
                rows = self._lend(there)
            else:
                rows, slot = self._show(there, new, places, most)
        if places is None:
            return self._copies(rows, there, new, compute)
        if len(new):
            compute(new, self._memory, places)
            with self._lock:
                self._settle(new, places)
        return rows, slot

    def _lend(self, slots: np.ndarray) -> np.ndarray:
        """Make the array that keeps slots as they are."""
        lease = Lease(self._shown, slots)
        self._leases.append(ref(lease))
        return np.asarray(lease)

    def _show(
        self, there: np.ndarray, new: np.ndarray, places: np.ndarray, most: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Hold the slots of new rows and of all those that the caller may see, and map them.

        Each of those who hold rows now has its share. Where every row has a slot, all are shown.
        """
        shown = there
        if most or self._fits:
            shown = np.flatnonzero(self._owner[: self._touched] >= 0)
        if most:
            self._stamp[there] = self._time  # so that these are among the latest
            room = max(self.capacity // (1 + len(self._leases)) - len(new), len(there))
            if not self._fits and len(shown) > room:
                shown = shown[np.argpartition(-self._stamp[shown], room)[:room]]
        slot = np.full(len(self._slot), -1, np.int64)
        slot[self._owner[shown]] = shown
        if self._fits and len(new) == 0:
            self._all = shown, slot
        slot[new] = places
        return self._lend(np.concatenate([shown, places])), slot

    def _vacate(self, count: int, there: np.ndarray, most: int) -> np.ndarray | None:
        """Slots for new rows, that nobody holds; None if there are not so many.

        First those that are empty, then memory that was not touched yet, but not beyond `most`
        slots, then rows in passing and those that were asked for longest ago.
        """
        if count == 0:
            return np.empty(0, np.int64)
        self._all = None
        is_free = np.ones(self._touched, bool)
        is_free[there] = False
        for lease in filter(None, (lease() for lease in self._leases)):
            is_free[lease.slots] = False
        free = np.flatnonzero(is_free)
        stamp = np.where(self._owner[free] < 0, -1, self._stamp[free])
        slots = len(self._stamp)
        untouched = min(most or slots, slots) - self._touched
        empty = int(np.count_nonzero(stamp < 0))
        fresh = max(min(untouched, count - empty), count - len(free), 0)
        if self._touched + fresh > slots:
            return None
        if count - fresh < len(free):
            free = free[np.argpartition(stamp, count - fresh)[: count - fresh]]
        places = np.concatenate([np.sort(free), np.arange(self._touched, self._touched + fresh)])
        stays = (places < self.capacity) & (self._owner[places] < 0) | bool(most)
        self._slot[self._owner[places[self._owner[places] >= 0]]] = -1
        self._owner[places] = -1
        self._stamp[places] = np.where(stays, self._time, PASSING)
        self._touched += fresh
        return places

    def _settle(self, new: np.ndarray, places: np.ndarray) -> None:
        """Note that rows are in their slots, unless another thread was faster with a row."""
        self._all = None
        first = self._slot[new] < 0
        self._owner[places[first]] = new[first]
        self._slot[new[first]] = places[first]

    def _copies(
        self,
        rows: np.ndarray,
        there: np.ndarray,
        new: np.ndarray,
        compute: Callable[[np.ndarray, np.ndarray, np.ndarray], None],
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows of the caller's own, where others hold too many slots."""
        there = np.unique(there)
        own = np.empty((len(there) + len(new), rows.shape[1]), rows.dtype)
        np.take(rows, there, axis=0, out=own[: len(there)])
        compute(new, own, np.arange(len(there), len(own)))
        slot = np.full(len(self._slot), -1, np.int64)
        slot[self._owner[there]] = np.arange(len(there))
        slot[new] = np.arange(len(there), len(own))
        return read_only(own), slot
