"""The verb that writes synthetic data (`VERB`)."""
