"""A sweep over the sites of places, in compiled code: most of the time between an answer and the next tone."""

from __future__ import annotations

import numpy as np

from gainful.numerics.compiling import njit

__all__ = ["sweep_places"]

_NEGLIGIBLE = 40.0  # nats below the top: a share of 4e-18


@njit(cache=True, nogil=True)
def sweep_places(  # type: ignore[no-untyped-def]
    grid, centre, likelihood, precision, shift, cautious, damping, S, m, narrowest, log_z, marginal, moved
):
    """Each place in its turn under each class and listener: precision and shift (P, T) and the belief S (P, T, T) and m
    (P, T) are changed in place; written are log Ẑ over what the site says (P, T), the tilted distributions (P, T, G),
    and how far moments have moved (P,).

    Without a proper cavity a site is taken off, and found anew from the others; what would leave no proper belief goes
    half-way to its limit. Where `cautious`, sites may only narrow the belief.
    """
    G, T = len(grid), centre.shape[1]
    logs = np.empty(G)
    constant = np.log(grid[1] - grid[0]) - 0.5 * np.log(2.0 * np.pi)
    for p in range(centre.shape[0]):
        moved[p] = 0.0
        for j in range(T):
            v, here = S[p, j, j], m[p, j]
            left = 1.0 / v - precision[p, j]
            proper = left > 1e-9
            cavity = 1.0 / left if proper else v
            at = cavity * (here / v - shift[p, j]) if proper else here
            top, half = -np.inf, 0.5 / cavity
            for g in range(G):
                off = grid[g] - centre[p, j] - at
                logs[g] = likelihood[p, j, g] - half * off * off
                top = max(top, logs[g])
            total = mean = square = 0.0
            for g in range(G):
                weight = np.exp(logs[g] - top) if logs[g] > top - _NEGLIGIBLE else 0.0
                off = grid[g] - centre[p, j] - at
                marginal[p, j, g] = weight
                total += weight
                mean += weight * off
                square += weight * off * off
            marginal[p, j] /= total
            mean /= total
            spread = max(square / total - mean * mean, narrowest)
            mean += at
            new = 1.0 / spread - 1.0 / cavity
            if cautious[p]:
                new = max(new, 0.0)
            whole = 1.0 / cavity + new
            change, push = -precision[p, j], -shift[p, j]
            if proper:
                change = damping[p] * (new - precision[p, j])
                push = damping[p] * (mean * whole - at / cavity - shift[p, j])
                moved[p] = max(moved[p], abs(mean - here) / np.sqrt(v), abs(1.0 / (whole * v) - 1.0))
            else:
                moved[p] = np.inf
            change = max(change, -0.5 / v)
            precision[p, j] += change
            shift[p, j] += push
            # One site has moved: the belief follows by a matrix of rank one.
            gain = 1.0 + change * v
            step, shrink = (push - change * here) / gain, change / gain
            column = S[p, :, j].copy()
            for a in range(T):
                m[p, a] += column[a] * step
                for b in range(T):
                    S[p, a, b] -= column[a] * column[b] * shrink
            now, pull = 1.0 / cavity + precision[p, j], at / cavity + shift[p, j]
            log_z[p, j] = top + np.log(total) + constant - 0.5 * np.log(cavity)
            log_z[p, j] += 0.5 * np.log(cavity * now) - 0.5 * (pull * pull / now - at * at / cavity)
