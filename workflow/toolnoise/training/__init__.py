"""One run: the loop over epochs, checkpoints, snapshots, the moved bit, and what a run leaves."""
