"""Seconds by activity."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class Timings(dict[str, float]):
    """Seconds by activity."""

    @contextmanager
    def measure(self, what: str) -> Iterator[None]:
        """Add the seconds of the block to `what`."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.add({what: time.perf_counter() - started})

    def add(self, seconds: Mapping[str, float]) -> None:
        """Add seconds that were measured elsewhere."""
        for what, value in seconds.items():
            self[what] = self.get(what, 0.0) + value
