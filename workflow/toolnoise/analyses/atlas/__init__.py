"""Atlas: which part of a tooling changes the outcome, by training that differs in one part."""
