"""Models, prompters, data sets and metrics by their specs, and the pairs of follow-up in a data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from intrabench.datasets.base import Dataset
    from intrabench.datasets.cases.timepoints import FollowUp
    from intrabench.metrics.base import Metric
    from intrabench.models.base import Model
    from intrabench.prompters.base import Prompter
    from intrabench.registry.objects import DatasetLike, MetricLike, ModelLike, PrompterLike


def model(spec: ModelLike) -> Model:
    """The model that a spec names, for example ``litemedsam``; nothing is loaded before it is opened.

    Raises:
        IntraBenchError: the name or a parameter is unknown.
    """
    from intrabench.registry.objects import make_model

    return make_model(spec)


def prompter(spec: PrompterLike, *more: PrompterLike) -> Prompter:
    """The prompter that a spec names, for example ``box_interp:n=3`` or ``box_interp:n=3+scribble``.

    more: a refinement to go with it, as a spec, an object or a class.

    Raises:
        IntraBenchError: a name or a parameter is unknown, or the parts do not fit together.
    """
    from intrabench.registry.objects import make_prompter

    return make_prompter(spec, *more)


def dataset(spec: DatasetLike, *changes: str) -> Dataset:
    """The data set that a spec names, for example ``brain_mni:structures=subcortical``, or that lies in a folder.

    changes: what is different about it, such as ``whole`` or ``noise:sigma=0.1``; results call it ``SPEC+CHANGE``.

    Raises:
        IntraBenchError: the name or a parameter is unknown, or the folder is not laid out as expected.
    """
    from intrabench.registry.objects import make_dataset

    return make_dataset(spec, *changes)


def follow_ups(dataset: DatasetLike, cases: str | Sequence[str] = ()) -> Iterator[FollowUp]:
    """The pairs of a case and its prior in a data set, each of one patient; none is converted before it is opened.

    cases: those that may be in pairs, as for `run`; empty: all.

    Raises:
        IntraBenchError: the data set or a case is unknown, or the data set gives a wrong time or series.
    """
    from intrabench.datasets.cases import timepoints
    from intrabench.datasets.cases.selection import select_cases
    from intrabench.registry.objects import make_dataset

    made = make_dataset(dataset)
    return timepoints.follow_ups(made, select_cases(made, [cases] if isinstance(cases, str) else cases))


def metric(spec: MetricLike) -> Metric:
    """The metric that a spec names, for example ``nsd:tolerance_mm=1``.

    Raises:
        IntraBenchError: the name or a parameter is unknown.
    """
    from intrabench.registry.objects import make_metric

    return make_metric(spec)
