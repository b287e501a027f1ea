"""How much of a trained network is noise, where it comes from, and what it costs to remove."""

__version__ = "0.1.0"
