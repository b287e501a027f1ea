"""Which operation has made a value, for frameworks whose values never change."""

import weakref
from typing import Any

MOST = 100_000


class Origins:
    """By value, the operation that made it, as long as the value lives."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, list[Any]]] = {}

    def note(self, value: Any, operation: list[Any]) -> None:
        """Keep which operation has made a value."""
        if len(self._made) >= MOST:
            self._made = {key: pair for key, pair in self._made.items() if pair[0]() is not None}
            if len(self._made) > MOST / 2:
                self._made = {}
        self._made[id(value)] = weakref.ref(value), operation

    def of(self, value: Any) -> list[Any] | None:
        """The operation that made a value, if it is known."""
        weak, operation = self._made.get(id(value), (None, None))
        return operation if weak is not None and weak() is value else None
