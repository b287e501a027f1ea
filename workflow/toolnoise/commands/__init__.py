"""What people ask for by hand: where a study stands, what it costs, what came out, how many runs are needed."""
