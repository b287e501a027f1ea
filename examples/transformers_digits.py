"""Hugging Face: a tiny vision transformer on scikit-learn's digits, with a seed for each source of noise that can be
separated: init, shuffle and dropout. Nothing is downloaded. About half a minute on a CPU.

    python examples/transformers_digits.py                       # writes ./outcome
    TOOLNOISE_SEED_INIT=5 python examples/transformers_digits.py  # other initial weights, all else as before
"""

import tempfile

import torch
from sklearn.datasets import load_digits
from transformers import Trainer, TrainingArguments, ViTConfig, ViTForImageClassification

from toolnoise.torch import save, seeds
from toolnoise.transformers import Sources, arguments

EPOCHS = 8


def main():
    torch.set_num_threads(1)  # the number of threads changes the order of sums
    digits = load_digits()
    images, labels = torch.tensor(digits.images / 8 - 1, dtype=torch.float32)[:, None], torch.tensor(digits.target)
    config = ViTConfig(
        image_size=8,
        patch_size=2,
        num_channels=1,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        hidden_dropout_prob=0.1,
        num_labels=10,
    )
    with seeds.init():
        model = ViTForImageClassification(config)
    data = [{"pixel_values": image, "labels": label} for image, label in zip(images, labels, strict=True)]
    sources = Sources()
    with tempfile.TemporaryDirectory() as folder:
        options = TrainingArguments(
            **arguments(),
            output_dir=folder,
            num_train_epochs=EPOCHS,
            per_device_train_batch_size=32,
            learning_rate=0.003,
            logging_strategy="epoch",
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
            dataloader_pin_memory=torch.cuda.is_available(),
        )
        trainer = Trainer(model, options, train_dataset=data[:1297], callbacks=[sources])
        trainer.train()
        logits = torch.tensor(trainer.predict(data[1297:]).predictions)
    save(logits, labels[1297:], model, sources.history)
    print(f"test accuracy {(logits.argmax(1) == labels[1297:]).float().mean():.3f}")


if __name__ == "__main__":
    main()
