"""PyTorch: the three-layer CNN of Zhuang et al. on scikit-learn's digits, like `smallcnn` in toolnoise's own engines.

python examples/smallcnn_digits.py  # writes ./outcome

Network, initial distributions, optimiser, learning rates and augmentation are as for `smallcnn` with the recipe of
workflow/studies/outside-small.yaml, which measures both. Only the draws differ: this program draws its own.
"""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy, pad
from torch.utils.data import DataLoader, TensorDataset

from toolnoise.torch import save, seeds

EPOCHS, BATCH = 20, 32


def network():
    """Three convolutions, global average pooling, a dense layer; Keras's initial distributions."""
    layers, channels = [], 1
    for filters in (16, 32, 32):
        layers += [nn.Conv2d(channels, filters, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        channels = filters
    model = nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10)
    )
    for layer in model:
        if hasattr(layer, "weight"):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    return model


def shifted(images):
    """The images, each shifted by at most one pixel, with zeros at the border."""
    moved = pad(images, (1, 1, 1, 1))
    places = torch.randint(3, (len(images), 2)).tolist()
    return torch.stack([image[:, y : y + 8, x : x + 8] for image, (y, x) in zip(moved, places, strict=True)])


def main():
    torch.set_num_threads(1)
    digits = load_digits()
    images, labels = torch.tensor(digits.images / 16, dtype=torch.float32)[:, None], torch.tensor(digits.target)
    with seeds.init():
        model = network()
    optimizer = torch.optim.Adam(model.parameters(), 0.008, eps=1e-7)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 8, 0.3)
    data = TensorDataset(images[:1297], labels[:1297])
    loader = DataLoader(data, batch_size=BATCH, shuffle=True, drop_last=True, **seeds.loader())
    history = []
    for _ in range(EPOCHS):
        total = 0.0
        for inputs, targets in loader:
            with seeds.augment():
                inputs = shifted(inputs)
            loss = cross_entropy(model(inputs), targets)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / len(loader)
        schedule.step()
        history.append({"loss": total})
    model.eval()
    with torch.no_grad():
        logits = model(images[1297:])
    save(logits, labels[1297:], model, history)
    print(f"test accuracy {(logits.argmax(1) == labels[1297:]).float().mean():.3f}")


if __name__ == "__main__":
    main()
