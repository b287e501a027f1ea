"""Hugging Face: dropout and shuffling, and the last checkpoint to go on from."""

import time
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from transformers import Trainer, TrainingArguments, set_seed
from transformers.trainer_utils import get_last_checkpoint

torch.set_num_threads(1)
set_seed(1)
images, labels = load_digits(return_X_y=True)
images, labels = torch.tensor(images[:320] / 16, dtype=torch.float32), torch.tensor(labels[:320])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 10))

    def forward(self, images, labels):
        # Long enough between two saves to be stopped there.
        time.sleep(0.05)
        logits = self.net(images)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


arguments = TrainingArguments(
    output_dir="kept",
    num_train_epochs=6,
    per_device_train_batch_size=32,
    learning_rate=0.01,
    logging_strategy="epoch",
    save_strategy="epoch",
    report_to="none",
    disable_tqdm=True,
    use_cpu=True,
    save_only_model=False,
)
data = [{"images": image, "labels": label} for image, label in zip(images, labels, strict=True)]
net = Net()
trainer = Trainer(net, arguments, train_dataset=data)
trainer.train(resume_from_checkpoint=get_last_checkpoint("kept") if Path("kept").is_dir() else None)
net.eval()
with torch.no_grad():
    np.save("preds.npy", net.net(images).numpy())
