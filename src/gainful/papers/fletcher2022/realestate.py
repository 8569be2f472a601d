"""Fletcher 2022, sec. 6.3: prices of houses in a city, by latitude and longitude."""

from __future__ import annotations

import numpy as np

from gainful.lab import Experiment, Row, Setting, data_file
from gainful.papers.fletcher2022.tables import claims, figures, learning_curves, settings, unit

__all__ = ["EXPERIMENT"]

_FILE, _MOST, _PUBLISHED = "taiwan_real_estate.csv", 30, (0.15, 0.25)


def _run(setting: Setting, seed: int) -> list[Row]:
    table = np.genfromtxt(data_file(_FILE), delimiter=",", names=True)
    X = unit(np.column_stack([table["latitude"], table["longitude"]]))
    return learning_curves(X, unit(table["price_unit_area"]), setting, seed, test=0.2, most=_MOST)


EXPERIMENT = Experiment(
    name="mixed-realestate",
    title="House prices by place: error against the number of answers",
    source="Fletcher 2022, sec. 6.3",
    published={
        "runs": "5, with 20 % of the rows set aside; costs 10, 7 and 3, budget 200, at most 30 answers",
        "cost-adjusted": 0.15,
        "random": 0.25,
    },
    settings=settings,
    run=_run,
    claims=lambda rows: claims(rows, _MOST, _PUBLISHED),
    figures=lambda rows, folder: figures(rows, folder, _PUBLISHED),
    data=(_FILE,),
)
