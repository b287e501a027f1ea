"""Results that travel from one site to another."""
