"""Seeds for the Trainer of Hugging Face's transformers: initial weights, order of the data and dropout apart."""

from typing import Any

from transformers import TrainerCallback

from toolnoise.torch import seeds


def arguments() -> dict[str, int]:
    """The seeds of TrainingArguments: `seed` from init, `data_seed`, which draws the order, from shuffle."""
    return {"seed": seeds.init.seed, "data_seed": seeds.shuffle.seed}


class Sources(TrainerCallback):
    """Draws training steps from the dropout's seed, and keeps the mean training loss of each epoch in `history`."""

    def __init__(self) -> None:
        self.history: list[dict[str, float]] = []

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        """Draw from `seeds.dropout` from here on."""
        self.drawing = seeds.dropout()
        self.drawing.__enter__()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        """Draw as before again."""
        self.drawing.__exit__(None, None, None)

    def on_log(self, _arguments: Any, _state: Any, _control: Any, logs: dict[str, float], **_: Any) -> None:
        """Keep the logged loss; `logging_strategy="epoch"` logs once an epoch."""
        if "loss" in logs:
            self.history.append({"loss": logs["loss"]})
