"""From rows to numbers: averages, intervals, ranks, comparisons and curves."""
