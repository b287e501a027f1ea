"""False verdicts of `compare` over test examples: a segment's tokens drawn together, and each taken for an example.

Two runs are equally good on all segments, but each is better on some of them, with most of their tokens: differences of
tokens of one segment have a correlation of 0.8. A verdict is false if the 95 % interval over examples leaves out 0.

    python bench/segments.py           4,000 nulls a line: a minute
    python bench/segments.py 400       of fewer
"""

import sys

import numpy as np

from toolnoise.comparison.clusters import mean_over_examples

TOKENS, WITHIN = 20, 0.8


def false_verdicts(nulls: int, segments: int, *, even: bool) -> tuple[float, float]:
    """The shares of nulls with a false verdict, by segments and by tokens."""
    draw = np.random.Generator(np.random.Philox(segments + even))
    counts = np.zeros(2, int)
    for _ in range(nulls):
        of_segments = np.sqrt(WITHIN) * draw.normal(size=(segments, 1))
        tokens = of_segments + np.sqrt(1 - WITHIN) * draw.normal(size=(segments, TOKENS))
        lengths = np.full(segments, TOKENS) if even else draw.integers(1, TOKENS + 1, segments)
        differences = tokens[np.arange(TOKENS) < lengths[:, np.newaxis]]
        for place, of_each in enumerate((lengths, np.ones(len(differences), int))):
            _, low, high = mean_over_examples(differences, of_each)
            counts[place] += not low <= 0 <= high
    return tuple((counts / nulls).tolist())


def main() -> None:
    """Print a line for each number of segments."""
    nulls = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    print(f"false verdicts of {nulls:,} nulls, %       segments as examples    tokens as examples")
    for segments in (10, 20, 60, 200):
        for even in (True, False):
            by_segment, by_token = false_verdicts(nulls, segments, even=even)
            called = f"{segments} segments of {TOKENS if even else f'1 to {TOKENS}'} tokens"
            print(f"{called:40}{100 * by_segment:12.1f}{100 * by_token:24.1f}{'  !' if by_segment > 0.06 else ''}")


if __name__ == "__main__":
    main()
