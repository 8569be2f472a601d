"""Fletcher 2022, sec. 6.3: air temperature at buoys in the Pacific, by latitude and longitude."""

from __future__ import annotations

import numpy as np

from gainful.lab import Experiment, Row, Setting, data_file
from gainful.papers.fletcher2022.tables import claims, figures, learning_curves, settings, unit

__all__ = ["EXPERIMENT"]

_FILE, _MOST = "elnino_buoys_14days.csv", 15


def _run(setting: Setting, seed: int) -> list[Row]:
    """One place and one temperature for each buoy: their means over the days on which it reported."""
    table = np.genfromtxt(data_file(_FILE), delimiter=",", names=True)
    values = np.column_stack([table[name] for name in ("buoy", "latitude", "longitude", "airtemp")])
    values = values[np.all(np.isfinite(values), axis=1)]
    means = np.array([values[values[:, 0] == buoy, 1:].mean(axis=0) for buoy in np.unique(values[:, 0])])
    scaled = unit(means)
    return learning_curves(scaled[:, :2], scaled[:, 2], setting, seed, test=0.33, most=_MOST)


EXPERIMENT = Experiment(
    name="mixed-buoys",
    title="Air temperature at buoys: error against the number of answers",
    source="Fletcher 2022, sec. 6.3",
    published={
        "runs": "5, with 33 % of the rows set aside; costs 10, 7 and 3, budget 200, at most 15 answers",
        "result": "lower error than random, in a figure that is not in the text",
    },
    settings=settings,
    run=_run,
    claims=lambda rows: claims(rows, _MOST, (None, None)),
    figures=lambda rows, folder: figures(rows, folder, (None, None)),
    data=(_FILE,),
)
