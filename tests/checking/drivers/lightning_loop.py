"""Lightning: a sampler that is told its epoch, all checkpoints, and the last one to go on from."""

import time

import numpy as np
import pytorch_lightning as lightning
import torch
from pytorch_lightning.callbacks import ModelCheckpoint
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

torch.set_num_threads(1)
lightning.seed_everything(1, verbose=False)
images, labels = load_digits(return_X_y=True)
images, labels = torch.tensor(images[:320] / 16, dtype=torch.float32), torch.tensor(labels[:320])


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))

    def training_step(self, batch, _):
        # Long enough between two saves to be stopped there.
        time.sleep(0.03)
        return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def on_train_epoch_end(self):
        with torch.no_grad():
            print(
                "epoch",
                self.current_epoch,
                "loss",
                float(nn.functional.cross_entropy(self.net(images), labels)),
                flush=True,
            )

    def configure_optimizers(self):
        optimiser = torch.optim.Adam(self.parameters(), 0.01)
        return [optimiser], [torch.optim.lr_scheduler.StepLR(optimiser, 2)]


data = TensorDataset(images, labels)
sampler = DistributedSampler(data, num_replicas=1, rank=0, seed=1)
loader = DataLoader(data, 32, sampler=sampler, num_workers=0)
trainer = lightning.Trainer(
    max_epochs=6,
    accelerator="cpu",
    logger=False,
    callbacks=[ModelCheckpoint(dirpath="kept", save_last=True, save_top_k=-1)],
    enable_progress_bar=False,
    enable_model_summary=False,
)
net = Net()
trainer.fit(net, loader, ckpt_path="last")
with torch.no_grad():
    np.save("preds.npy", net.net(images).numpy())
