"""Timing: training steps by kernel, speed probes, and run times."""
