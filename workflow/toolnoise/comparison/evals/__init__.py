"""Evaluation logs of language models, compared: a score for each question, sample and training run."""
