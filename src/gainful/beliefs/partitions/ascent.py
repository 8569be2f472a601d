"""Where a chain over additive models begins: interactions are added one by one, those that the answers ask for first.

At a fitted model with terms k_1, k_2, …, adding v k_a k_b to the kernel raises log p(y) at the rate

    u_ab = ½ tr((ααᵀ − K⁻¹) K_ab),   α = K⁻¹y,   with variance ½ tr(K⁻¹ K_ab K⁻¹ K_ab) under the model itself

where v is small, so that u over its standard deviation says how much the answers ask for the interaction of a and b.
All pairs of terms take one Cholesky factorisation and no search. A chain goes on from the best model that is met.
"""

from __future__ import annotations

from gainful.beliefs.partitions.chain import State, Target, init
from gainful.beliefs.partitions.graph import edges_of, graph_of, is_graph
from gainful.beliefs.partitions.partition import alone, tidy
from gainful.kernels.additive import Terms

__all__ = ["ascended"]

_TRIES = 3  # of the interactions that are asked for most, those that are tried
_FALL = 10.0  # nats below the best so far: a block of many dimensions may explain nothing before it is whole


def ascended(target: Target) -> State:
    """From all dimensions alone, an interaction more at a time, the best of those that are asked for most: the most
    probable model that is met before all act together or models have become much worse. Where there are two forms,
    the better end of two ways."""
    forms = ("partitions", "graphs") if target.form == "both" else (target.form,)
    return max((_upwards(target, form) for form in forms), key=_density)


def _upwards(target: Target, form: str) -> State:
    state = best = init(target, alone(target.answers.dimensions))
    while state.log_density > best.log_density - _FALL:
        neighbours = _asked_for(target, state.terms, form)
        if not neighbours:
            break
        state = max((State(each, target.log_density(each, state.terms)) for each in neighbours), key=_density)
        best = max(best, state, key=_density)
    return best


def _density(state: State) -> float:
    return state.log_density


def _asked_for(target: Target, here: Terms, form: str) -> list[Terms]:
    """The models with one interaction more of those that are asked for most."""
    asked = target.answers.asked_for(here, target.fit(here).theta)
    joined = (_joined(here, a, b, form) for a, b in asked)
    return [each for each in joined if each is not None][:_TRIES]


def _joined(terms: Terms, a: int, b: int, form: str) -> Terms | None:
    """The model in which two terms act together; None where a graph has no such edge to add."""
    if form != "graphs":
        rest = [term for g, term in enumerate(terms) if g not in (a, b)]
        return tidy([*rest, (*terms[a], *terms[b])])
    if not (len(terms[a]) == len(terms[b]) == 1 and is_graph(terms)):
        return None
    edges = edges_of(terms)
    new = (min(terms[a][0], terms[b][0]), max(terms[a][0], terms[b][0]))
    return None if new in edges else graph_of(edges | {new}, len(set().union(*terms)))
