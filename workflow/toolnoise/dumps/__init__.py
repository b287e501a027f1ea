"""What trained networks compute on test examples, written once and read by every measure."""
