"""A callback for Lightning: the random numbers of each training step come from `seeds.dropout`."""

from typing import Any

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

from toolnoise.torch import seeds


class Sources(Callback):
    """Draws training steps from the dropout's seed, and keeps the logged metrics of each epoch in `history`."""

    def __init__(self) -> None:
        self.history: list[dict[str, float]] = []

    def on_train_batch_start(self, *_: Any) -> None:
        """Draw from `seeds.dropout` from here on."""
        self.drawing = seeds.dropout()
        self.drawing.__enter__()

    def on_train_batch_end(self, *_: Any) -> None:
        """Draw as before again."""
        self.drawing.__exit__(None, None, None)

    def on_train_epoch_end(self, trainer: Any, *_: Any) -> None:
        """Keep what the module has logged."""
        self.history.append({name: float(value) for name, value in trainer.callback_metrics.items()})
