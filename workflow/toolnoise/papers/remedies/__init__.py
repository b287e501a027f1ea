"""Remedies: how much of the noise an ensemble, an average of weights or augmentation at test time removes."""
