"""Who rates what, and in which order."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, islice
from math import comb

import numpy as np

MOST_TRIED = 5000
"""Combinations of raters that are compared for each input."""


def shared_out(inputs: int, raters: int, each: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """For each input the `each` raters who rate all of its masks: a balanced incomplete block design, made greedily.

    Raters get equally many inputs, give or take one, and pairs of raters share them as evenly as that finds.

    Raises:
        ValueError: there are fewer raters than should rate an input.
    """
    if not 0 < each <= raters:
        raise ValueError(f"{each} raters for each input, but there are {raters}")
    load, together = np.zeros(raters, int), np.zeros((raters, raters), int)
    found = []
    for _ in range(inputs):
        who = rng.permutation(raters)
        who = who[np.argsort(load[who], kind="stable")]  # those with least work are tried first
        sure = [one for one in who if load[one] < load[who[each - 1]]]
        rest = [one for one in who if load[one] == load[who[each - 1]]]
        open_places = each - len(sure)
        tried = combinations(rest, open_places)
        if comb(len(rest), open_places) > MOST_TRIED:
            tried = islice(tried, MOST_TRIED)  # type: ignore[assignment]
        best = min(
            ([*sure, *more] for more in tried), key=lambda group: sum(together[a, b] for a, b in combinations(group, 2))
        )
        for a, b in combinations(best, 2):
            together[a, b] += 1
            together[b, a] += 1
        load[best] += 1
        found.append(tuple(sorted(int(one) for one in best)))
    return found


def arranged(masks: Mapping[str, str], repeats: int, rng: np.random.Generator) -> list[str]:
    """An order of masks by chance in which a case never follows itself, as far as that is possible.

    masks: their cases by name. `repeats` of them come a second time, whatever they are, since who recognises one should
    not learn what it is: those seen in the first half come again in the second, and never at once.
    """
    order = _apart(masks, rng)
    half = -(-len(order) // 2)
    for mask in rng.permutation(order[:half])[:repeats].tolist():
        places = list(range(max(half, order.index(mask) + 2), len(order) + 1)) or [len(order)]
        free = [place for place in places if all(masks[near] != masks[mask] for near in order[place - 1 : place + 1])]
        order.insert(int(rng.choice(free or places)), mask)
    return order


def _apart(masks: Mapping[str, str], rng: np.random.Generator) -> list[str]:
    left: dict[str, list[str]] = {}
    for mask in rng.permutation(sorted(masks)).tolist():
        left.setdefault(masks[mask], []).append(mask)
    order: list[str] = []
    while left:
        last = masks[order[-1]] if order else None
        free = [case for case in left if case != last] or list(left)
        counts = np.array([len(left[case]) for case in free])
        rest = sum(map(len, left.values()))
        most = int(counts.argmax())
        # a case with more than half of what is left must come now, else it would follow itself later
        case = free[most] if 2 * counts[most] > rest else free[int(rng.choice(len(free), p=counts / counts.sum()))]
        order.append(left[case].pop())
        if not left[case]:
            del left[case]
    return order
