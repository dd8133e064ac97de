"""From rows to numbers: scores, means, intervals, ranks, comparisons."""
