"""Frameworks: how far the same training ends apart in two frameworks, and where they part."""
