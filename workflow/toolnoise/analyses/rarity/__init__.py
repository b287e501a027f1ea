"""Rarity: whether rare groups of examples vary more between runs."""
