"""Outputs of trained networks on test examples, written once and read by every measure."""
