"""Frameworks: how far the same training ends apart on two toolings or in two frameworks, and where they part."""
