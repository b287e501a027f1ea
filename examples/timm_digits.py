"""timm: a small ConvNeXt on scikit-learn's digits, with a seed for each source of noise. About ten seconds on a CPU.

python examples/timm_digits.py                          # writes ./outcome
TOOLNOISE_SEED_AUGMENT=5 python examples/timm_digits.py  # other mixtures of images, all else as before

Nothing is downloaded: the weights are drawn, not pretrained.
"""

import timm
import torch
from sklearn.datasets import load_digits
from timm.data import Mixup
from timm.loss import SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from torch.utils.data import DataLoader, TensorDataset

from toolnoise.torch import save, seeds

EPOCHS, BATCH, CLASSES = 5, 32, 10


def main():
    torch.set_num_threads(1)  # the number of threads changes the order of sums
    digits = load_digits()
    images, labels = torch.tensor(digits.images / 8 - 1, dtype=torch.float32)[:, None], torch.tensor(digits.target)
    size = {"in_chans": 1, "num_classes": CLASSES, "patch_size": 1, "depths": (1, 1, 1, 1), "dims": (16, 32, 32, 32)}
    with seeds.init():
        # Stochastic depth is a kind of dropout: it leaves out whole branches.
        model = timm.create_model("convnext_atto", drop_path_rate=0.1, **size)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=0.003, weight_decay=0.01)
    # Mixup mixes pairs of images, so every batch must be full.
    data = TensorDataset(images[:1297], labels[:1297])
    loader = DataLoader(data, batch_size=BATCH, shuffle=True, drop_last=True, **seeds.loader())
    mixup, criterion = Mixup(mixup_alpha=0.2, num_classes=CLASSES), SoftTargetCrossEntropy()
    history = []
    for _ in range(EPOCHS):
        total = 0.0
        for inputs, targets in loader:
            with seeds.augment():
                inputs, targets = mixup(inputs, targets)
            with seeds.dropout():
                loss = criterion(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / len(loader)
        history.append({"loss": total})
    model.eval()
    with torch.no_grad():
        logits = model(images[1297:])
    save(logits, labels[1297:], model, history)
    print(f"test accuracy {(logits.argmax(1) == labels[1297:]).float().mean():.3f}")


if __name__ == "__main__":
    main()
