"""The verbs of this room that people call (`toolnoise.verbs` has those of the kernel)."""
