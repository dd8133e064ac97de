"""Models of a run with their runtimes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from intrabench.engine.options import chosen
from intrabench.engine.runners import make_runner
from intrabench.models.base import Runtime
from intrabench.models.box_fill import BoxFill


@dataclass(eq=False)
class Loading(BoxFill):
    """Box fill with something that is loaded for its runtime."""

    name = "loading"

    @cached_property
    def network(self) -> str:
        return f"for batches of {self.runtime.batch}"


def test_a_run_works_on_a_copy_that_loads_its_network_for_its_own_runtime() -> None:
    given = Loading()
    assert given.network == "for batches of fixed"
    model = make_runner(chosen({"model": given, "batch": 3})).model
    assert isinstance(model, Loading)
    assert (model.runtime.batch, model.network) == ("3", "for batches of 3")
    assert (given.runtime, given.network) == (Runtime(), "for batches of fixed")
