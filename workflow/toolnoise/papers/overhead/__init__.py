"""Overhead: how much longer deterministic steps take, and in which kernels."""
