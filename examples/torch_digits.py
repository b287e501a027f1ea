"""PyTorch: a small CNN on scikit-learn's digits, with a seed for each source of noise. About ten seconds on a CPU.

python examples/torch_digits.py                          # writes ./outcome
TOOLNOISE_SEED_SHUFFLE=5 python examples/torch_digits.py  # another order of the data, all else as before
"""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy, pad
from torch.utils.data import DataLoader, Dataset

from toolnoise.torch import save, seeds

EPOCHS = 5


class Digits(Dataset):
    """Digits, shifted by at most one pixel."""

    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, place):
        with seeds.augment():
            down, right = torch.randint(3, (2,)).tolist()
        return pad(self.images[place], (1, 1, 1, 1))[:, down : down + 8, right : right + 8], self.labels[place]


def main():
    torch.set_num_threads(1)  # the number of threads changes the order of sums
    digits = load_digits()
    images, labels = torch.tensor(digits.images / 16, dtype=torch.float32)[:, None], torch.tensor(digits.target)
    with seeds.init():
        model = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Flatten(), nn.Dropout(0.2), nn.Linear(256, 10)),
        )
    optimizer = torch.optim.Adam(model.parameters(), 0.003)
    loader = DataLoader(Digits(images[:1297], labels[:1297]), batch_size=32, shuffle=True, **seeds.loader())
    history = []
    for _ in range(EPOCHS):
        total = 0.0
        for inputs, targets in loader:
            with seeds.dropout():
                loss = cross_entropy(model(inputs), targets)
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
