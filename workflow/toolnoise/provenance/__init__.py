"""Where every artifact comes from: statements, and what is done with them."""
