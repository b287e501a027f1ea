"""Lightning: an MLP on scikit-learn's digits, with a seed for each source of noise. About twenty seconds on a CPU.

python examples/lightning_digits.py                          # writes ./outcome
TOOLNOISE_SEED_DROPOUT=5 python examples/lightning_digits.py  # other dropout masks, all else as before
"""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

try:
    import lightning.pytorch as lightning
except ImportError:
    import pytorch_lightning as lightning

from toolnoise.lightning import Sources
from toolnoise.torch import DETERMINISTIC, save, seeds

EPOCHS = 5


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))

    def forward(self, images):
        return self.network(images)

    def training_step(self, batch, _number):
        images, labels = batch
        loss = cross_entropy(self(images), labels)
        self.log("loss", loss, on_step=False, on_epoch=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 0.003)


def main():
    torch.set_num_threads(1)  # the number of threads changes the order of sums
    digits = load_digits()
    images, labels = torch.tensor(digits.data / 16, dtype=torch.float32), torch.tensor(digits.target)
    with seeds.init():
        model = Classifier()
    loader = DataLoader(TensorDataset(images[:1297], labels[:1297]), batch_size=32, shuffle=True, **seeds.loader())
    sources = Sources()
    trainer = lightning.Trainer(
        max_epochs=EPOCHS,
        accelerator="auto",
        deterministic=DETERMINISTIC or None,
        callbacks=[sources],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(model, loader)
    model.eval()
    with torch.no_grad():
        logits = model(images[1297:])
    save(logits, labels[1297:], model, sources.history)
    print(f"test accuracy {(logits.argmax(1) == labels[1297:]).float().mean():.3f}")


if __name__ == "__main__":
    main()
