"""More processes that train with PyTorch's first: each has a share of every batch, and Gloo adds their gradients up.

They are forked from the process that has built the network and holds the data, and make each update as it does, so all
have the same weights after every step. A layer that looks at a whole batch, as batch normalisation does, sees a share.
"""

import multiprocessing
import tempfile
from contextlib import suppress
from datetime import timedelta
from multiprocessing.connection import Connection
from typing import Any

from toolnoise.base.errors import BadInput

# For the slowest of the processes in a step, in which each does the same work.
WAIT = timedelta(minutes=10)


class Ranks:
    """The processes of an engine, of which this is number `rank`; one process needs no other."""

    def __init__(self, engine: Any, world: int) -> None:
        self.engine, self.world, self.rank, self.others = engine, world, 0, []
        if world == 1:
            return
        # Where they find one another; it goes with this object.
        self.meeting = tempfile.TemporaryDirectory()
        context = multiprocessing.get_context("fork")
        for rank in range(1, world):
            here, there = context.Pipe()
            self.others.append(here)
            context.Process(target=self._follow, args=(rank, there), daemon=True).start()
            there.close()
        self._join()

    def _join(self) -> None:
        at = f"file://{self.meeting.name}/ranks"
        self.engine.torch.distributed.init_process_group(
            "gloo", at, rank=self.rank, world_size=self.world, timeout=WAIT
        )

    def _follow(self, rank: int, there: Connection) -> None:
        # Whoever keeps the other end open would never see it close.
        for here in self.others:
            here.close()
        self.rank, self.others, self.engine.ranks = rank, [], self
        self._join()
        # The first process closes its end when it ends; what it cannot train, it says itself.
        with suppress(EOFError, BadInput):
            while True:
                method, argument = there.recv()
                getattr(self.engine, method)(argument)

    def _ended(self) -> BadInput:
        return BadInput(f"hardware {self.engine.tooling['name']}", "world", "a process has ended early", "see the log")

    def ask(self, method: str, argument: Any) -> None:
        """Have the others call a method, which ends there when it has ended here."""
        try:
            for other in self.others:
                other.send((method, argument))
        except OSError:
            raise self._ended() from None

    def added(self, gradients: tuple[Any, ...], loss: Any, correct: Any) -> tuple[tuple[Any, ...], Any, Any]:
        """Sums over all processes, the same bits in each."""
        if self.world == 1:
            return gradients, loss, correct
        torch = self.engine.torch
        flat = torch.cat([gradient.reshape(-1) for gradient in gradients] + [torch.stack([loss, correct.float()])])
        try:
            torch.distributed.all_reduce(flat)
        except RuntimeError:
            raise self._ended() from None
        *summed, counts = flat.split([gradient.numel() for gradient in gradients] + [2])
        shaped = tuple(part.view_as(gradient) for part, gradient in zip(summed, gradients, strict=True))
        return shaped, counts[0], counts[1].long()
