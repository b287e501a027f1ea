"""Language: how far runs of a language model end apart in what they say of the next token, and in what they write."""
