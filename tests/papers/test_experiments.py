"""What every experiment of the package promises."""

from __future__ import annotations

from pathlib import Path

import pytest
import toys

import gainful as gf
from gainful.lab import FILES, DataFile, Experiment, registry
from gainful.lab.repetition import repetitions_of
from gainful.papers import experiments, find

EXPERIMENTS = experiments()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_is_found_by_its_name_and_has_repetitions_and_a_source(name: str) -> None:
    experiment = find(name)
    assert experiment is EXPERIMENTS[name]
    assert registry.address_of(experiment) == registry.resolve(name)
    assert experiment.title
    assert experiment.source
    assert experiment.published
    assert all(file in FILES or isinstance(file, DataFile) for file in experiment.data)
    quick, full = (len(repetitions_of(experiment, quick, seed=0)) for quick in (True, False))
    assert 0 < quick <= full


def test_names_that_are_not_there_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no-such-thing", "runner", "os.path", "toys:nothing", "toys:settings", "no_such_module:X"):
        with pytest.raises(gf.InvalidInput, match="name: expected"):
            find(name)
    monkeypatch.setattr(registry, "experiments", lambda: {"mixed-costs": toys.TOY})
    with pytest.raises(gf.InvalidInput, match="did you mean mixed-costs"):
        find("mixed-cost")
    (tmp_path / "needs_more.py").write_text("import not_installed_anywhere\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="not_installed_anywhere"):
        find("needs_more:X")


def test_a_name_must_be_fit_for_a_folder() -> None:
    with pytest.raises(gf.InvalidInput, match="small letters"):
        Experiment("../up", "", "", {}, toys.settings, toys.run, toys.claims, toys.figures)
