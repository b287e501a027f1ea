"""Keras: a network without dropout that goes on from its backup."""

import os
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
import keras
import numpy as np
from sklearn.datasets import load_digits

keras.utils.set_random_seed(1)
images, labels = load_digits(return_X_y=True)
images, labels = (images[:320] / 16).astype("float32"), labels[:320]
net = keras.Sequential(
    [keras.Input((64,)), keras.layers.Dense(32, "relu"), keras.layers.Dropout(0), keras.layers.Dense(10)]
)
net.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
# SIGKILL in the middle of a backup would leave half a file: an epoch is much longer than a backup.
slow = keras.callbacks.LambdaCallback(on_epoch_begin=lambda *_: time.sleep(1))
net.fit(images, labels, 32, 8, verbose=2, callbacks=[slow, keras.callbacks.BackupAndRestore("kept")])
np.save("preds.npy", net.predict(images, verbose=0))
