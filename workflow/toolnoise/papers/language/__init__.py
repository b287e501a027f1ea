"""Language: how far runs of a language model end apart in their next-token predictions, and in the text they write."""
