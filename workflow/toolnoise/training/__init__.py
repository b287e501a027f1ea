"""One run: the loop over epochs, checkpoints, snapshots and the moved bit."""
