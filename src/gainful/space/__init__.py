"""Where one can measure: a box of named dimensions of any kind, or a finite pool of places, or a part of either.

    space = Space(Real("temperature", 20, 90, unit="°C"), Categorical("catalyst", ["Pd", "Ni"]))
    pool = Pool(array_or_table)
    dry = space.where(Within(temperature=(30, None))).where(my_own_predicate)

All give candidates, know their names and bounds, and say whether places belong to them. A place is a row of codes:
`space.code` makes them from what people write, `space.natural` reads them, `space.coordinates` is what kernels see.
"""

from gainful.space.box import Space
from gainful.space.constraints import Constraint, Fresh, Limit, LinearLimit, Within
from gainful.space.dimensions import At, Categorical, Integer, Proportions, Real
from gainful.space.drawing import evenly
from gainful.space.parts import Restricted
from gainful.space.places import Places, code_in, coordinates_of, in_words, natural_in, require_places
from gainful.space.pools import Pool
from gainful.space.said import as_codes, has_numbered_levels

__all__ = [
    "At",
    "Categorical",
    "Constraint",
    "Fresh",
    "Integer",
    "Limit",
    "LinearLimit",
    "Places",
    "Pool",
    "Proportions",
    "Real",
    "Restricted",
    "Space",
    "Within",
    "as_codes",
    "code_in",
    "coordinates_of",
    "evenly",
    "has_numbered_levels",
    "in_words",
    "natural_in",
    "require_places",
]
