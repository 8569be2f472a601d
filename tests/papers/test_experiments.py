"""What every published experiment promises."""

from __future__ import annotations

import pytest

import gainful as gf
from gainful.lab import FILES, DataFile, address_of
from gainful.lab import find as find_at
from gainful.lab.repetition import repetitions_of
from gainful.papers import experiments, find

EXPERIMENTS = experiments()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_is_found_by_its_name_and_has_repetitions_and_a_source(name: str) -> None:
    experiment = find(name)
    assert experiment is EXPERIMENTS[name]
    assert find_at(address_of(experiment)) is experiment  # as another process finds it
    assert experiment.title
    assert experiment.source.startswith(
        ("Fletcher 2022, sec. ", "Gardner 2018, ch. ", "Houlsby et al. 2011, sec. ", "Lin 2022, sec. ")
    )
    assert experiment.published
    assert all(file in FILES or isinstance(file, DataFile) for file in experiment.data)
    quick, full = (len(repetitions_of(experiment, quick, seed=0)) for quick in (True, False))
    assert 0 < quick <= full


def test_names_that_are_not_there_are_refused() -> None:
    for name in ("no-such-thing", "runner", "os.path"):
        with pytest.raises(gf.InvalidInput, match="name: expected one of additive-completion"):
            find(name)
    with pytest.raises(gf.InvalidInput, match="did you mean mixed-costs"):
        find("mixed-cost")
    with pytest.raises(gf.InvalidInput, match="experiment: expected"):
        find("no_such_module:X")
