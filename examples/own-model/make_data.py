import numpy as np
from sklearn.datasets import load_digits

images, labels = load_digits(return_X_y=True)
images = (images * 255 / 16).astype(np.uint8).reshape(-1, 8, 8, 1)
np.savez(
    "my-data.npz",
    train_images=images[:1297],
    train_labels=labels[:1297],
    test_images=images[1297:],
    test_labels=labels[1297:],
)
