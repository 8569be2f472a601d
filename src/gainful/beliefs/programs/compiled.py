"""The evidence of one program after the other in compiled code, with its derivatives in every number.

A program is a row of nodes in the order of its text (`population.py`), so the parts of a node stand right behind it.
Covariances are lower triangles, n(n + 1)/2 numbers. A leaf that depends on the distance of two places is worked out
once for each distance that occurs: 144 months have 144 distances, not ten thousand.

    log N(y; 0, K) and, with G = ½(αα' − K⁻¹), dL/dν = Σ G ∘ dK/dν,

passed from the root to the leaves: + hands G on, × multiplies it by the other side.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gainful.beliefs.programs.population import CODES, JOINS
from gainful.numerics.compiling import njit

__all__ = ["draw_rows", "evidence_rows", "grow_rows", "prune_rows", "replace_rows", "triangle_rows"]

Array = NDArray[np.float64]
Codes = NDArray[np.int64]

_C, _LIN, _SE, _PER, _RQ, _MAT, _SUM, _PRODUCT, _CHANGE = (
    CODES[symbol] for symbol in ("C", "LIN", "SE", "PER", "RQ", "MAT", "+", "×", "CP")
)
_JOINS = np.array(JOINS, dtype=np.int64)
_ROOT_5 = np.sqrt(5.0)
_LOG_2PI = float(np.log(2.0 * np.pi))

_compiled = njit(cache=True, nogil=True, fastmath=False)


@_compiled
def _spans(symbols):  # type: ignore[no-untyped-def]
    """How many nodes the sub-program at each node has; 0 behind the end."""
    spans = np.zeros(len(symbols), dtype=np.int64)
    for j in range(len(symbols) - 1, -1, -1):
        if symbols[j] == 0:
            continue
        spans[j] = 1
        child = j + 1
        for _ in range(_JOINS[symbols[j]]):
            spans[j] += spans[child]
            child += spans[child]
    return spans


@_compiled
def _of_distance(code, a, b, r):  # type: ignore[no-untyped-def]
    """A stationary leaf at a distance."""
    if code == _SE:
        return np.exp(-0.5 * (r / a) ** 2)
    if code == _PER:
        return np.exp(-2.0 * (np.sin(np.pi * r / b) / a) ** 2)
    if code == _RQ:
        return np.exp(-b * np.log1p((r / a) ** 2 / (2.0 * b)))
    s = _ROOT_5 * r / a
    return (1.0 + s * (1.0 + s / 3.0)) * np.exp(-s)


@_compiled
def _slopes_of_distance(code, a, b, r):  # type: ignore[no-untyped-def]
    """Its derivatives in its two numbers."""
    value = _of_distance(code, a, b, r)
    if code == _SE:
        return value * r**2 / a**3, 0.0
    if code == _PER:
        phase = np.pi * r / b
        return value * 4.0 * np.sin(phase) ** 2 / a**3, value * 2.0 / a**2 * np.sin(2.0 * phase) * phase / b
    if code == _RQ:
        s = (r / a) ** 2 / (2.0 * b)
        return value * 2.0 * b * s / (a * (1.0 + s)), value * (s / (1.0 + s) - np.log1p(s))
    s = _ROOT_5 * r / a
    return s**2 * (1.0 + s) * np.exp(-s) / (3.0 * a), 0.0


@_compiled
def _step_at(x, place, width):  # type: ignore[no-untyped-def]
    """From 0 to 1 about a place: a logistic curve."""
    z = (x - place) / width
    return 1.0 / (1.0 + np.exp(-z)) if z >= 0.0 else np.exp(z) / (1.0 + np.exp(z))


@_compiled
def _triangles(symbols, numbers, columns, spans, X, distances, begins, which):  # type: ignore[no-untyped-def] # noqa: C901
    """The covariance of every node, (nodes, n(n + 1)/2)."""
    n, size = X.shape[0], spans[0]
    total = n * (n + 1) // 2
    V = np.empty((size, total))
    for j in range(size - 1, -1, -1):
        code, d, a, b = symbols[j], columns[j], numbers[j, 0], numbers[j, 1]
        if _JOINS[code]:
            left, right = j + 1, j + 1 + spans[j + 1]
            if code == _SUM:
                for t in range(total):
                    V[j, t] = V[left, t] + V[right, t]
            elif code == _PRODUCT:
                for t in range(total):
                    V[j, t] = V[left, t] * V[right, t]
            else:
                t = 0
                for p in range(n):
                    s = _step_at(X[p, d], a, b)
                    for q in range(p + 1):
                        o = _step_at(X[q, d], a, b)
                        V[j, t] = (1.0 - s) * (1.0 - o) * V[left, t] + s * o * V[right, t]
                        t += 1
        elif code == _C:
            for t in range(total):
                V[j, t] = a
        elif code == _LIN:
            t = 0
            for p in range(n):
                for q in range(p + 1):
                    V[j, t] = (X[p, d] - a) * (X[q, d] - a)
                    t += 1
        else:
            lo, hi = begins[d], begins[d + 1]
            table = np.empty(hi - lo)
            for u in range(hi - lo):
                table[u] = _of_distance(code, a, b, distances[lo + u])
            for t in range(total):
                V[j, t] = table[which[d, t]]
    return V


@_compiled
def _backward(symbols, numbers, columns, spans, X, distances, begins, which, V, G, out):  # type: ignore[no-untyped-def]
    """dL/d numbers from G, the derivative in the root's triangle; `out` (nodes, 2) is filled."""
    n, size = X.shape[0], spans[0]
    total = n * (n + 1) // 2
    A = np.empty((size, total))
    A[0] = G
    for j in range(size):
        code, d, a, b = symbols[j], columns[j], numbers[j, 0], numbers[j, 1]
        if _JOINS[code]:
            left, right = j + 1, j + 1 + spans[j + 1]
            if code == _SUM:
                A[left] = A[j]
                A[right] = A[j]
            elif code == _PRODUCT:
                for t in range(total):
                    A[left, t] = A[j, t] * V[right, t]
                    A[right, t] = A[j, t] * V[left, t]
            else:
                t = 0
                in_a, in_b = 0.0, 0.0
                for p in range(n):
                    s = _step_at(X[p, d], a, b)
                    for q in range(p + 1):
                        o = _step_at(X[q, d], a, b)
                        A[left, t] = A[j, t] * (1.0 - s) * (1.0 - o)
                        A[right, t] = A[j, t] * s * o
                        by_s = A[j, t] * (-(1.0 - o) * V[left, t] + o * V[right, t]) * s * (1.0 - s)
                        by_o = A[j, t] * (-(1.0 - s) * V[left, t] + s * V[right, t]) * o * (1.0 - o)
                        in_a -= (by_s + by_o) / b
                        in_b -= (by_s * (X[p, d] - a) + by_o * (X[q, d] - a)) / b**2
                        t += 1
                out[j, 0], out[j, 1] = in_a, in_b
        elif code == _C:
            out[j, 0] = A[j].sum()
        elif code == _LIN:
            t, found = 0, 0.0
            for p in range(n):
                for q in range(p + 1):
                    found -= A[j, t] * (X[p, d] + X[q, d] - 2.0 * a)
                    t += 1
            out[j, 0] = found
        else:
            lo, hi = begins[d], begins[d + 1]
            bins = np.zeros(hi - lo)
            for t in range(total):
                bins[which[d, t]] += A[j, t]
            in_a, in_b = 0.0, 0.0
            for u in range(hi - lo):
                if bins[u] != 0.0:
                    by_a, by_b = _slopes_of_distance(code, a, b, distances[lo + u])
                    in_a += bins[u] * by_a
                    in_b += bins[u] * by_b
            out[j, 0], out[j, 1] = in_a, in_b


@_compiled
def triangle_rows(symbols, numbers, columns, X, distances, begins, which, out):  # type: ignore[no-untyped-def]
    """The covariance of every program, its lower triangle row by row, into `out` (k, n(n + 1)/2)."""
    for i in range(len(symbols)):
        spans = _spans(symbols[i])
        out[i] = _triangles(symbols[i], numbers[i], columns[i], spans, X, distances, begins, which)[0]


@_compiled
def evidence_rows(  # type: ignore[no-untyped-def] # noqa: C901
    rows, symbols, numbers, columns, noise, own, fixed, X, y, distances, begins, which, ends, shares,
    value, by_number, by_noise, sloped,
):  # fmt: skip
    """Σ_e shares_e log N(y; 0, K + noise) of the first ends_e answers, for the programs of these rows, into `value`;
    where `sloped` its derivatives too. −inf where that is no covariance in double precision.

    The noise's variance of an answer is `fixed`, and that of number `own` of the program's where own ≥ 0. Evidences of
    the first answers come with that of all: their factor is a corner of the factor.
    """
    n = len(y)
    for i in rows:
        spans = _spans(symbols[i])
        V = _triangles(symbols[i], numbers[i], columns[i], spans, X, distances, begins, which)
        K = np.empty((n, n))
        t = 0
        for p in range(n):
            for q in range(p + 1):
                K[p, q] = V[0, t]
                K[q, p] = V[0, t]
                t += 1
            K[p, p] += fixed[p]
            if own[p] >= 0:
                K[p, p] += noise[i, own[p]]
        found, failed = 0.0, False
        try:
            L = np.linalg.cholesky(K)
        except Exception:  # numba knows this one only; it is the factorisation that fails
            failed = True
            L = K
        if failed or not np.isfinite(L[n - 1, n - 1]):
            value[i] = -np.inf
            by_number[i] = 0.0
            by_noise[i] = 0.0
            continue
        z = np.empty(n)
        running = 0.0
        e = 0
        for p in range(n):
            s = y[p]
            for q in range(p):
                s -= L[p, q] * z[q]
            z[p] = s / L[p, p]
            running += -0.5 * (z[p] ** 2 + _LOG_2PI) - np.log(L[p, p])
            while e < len(ends) and ends[e] == p + 1:
                found += shares[e] * running
                e += 1
        value[i] = found
        if not sloped:
            continue
        G = np.zeros(n * (n + 1) // 2)
        by_noise[i] = 0.0
        for e in range(len(ends)):
            m = ends[e]
            if m == 0 or shares[e] == 0.0:
                continue
            try:
                inverse = np.linalg.inv(K[:m, :m].copy())
            except Exception:  # a pivot that is zero, where that of the other factorisation was just above
                failed = True
                inverse = np.zeros((m, m)).T
            if failed:
                break
            alpha = inverse @ y[:m].copy()
            t = 0
            for p in range(m):
                for q in range(p):
                    G[t] += shares[e] * (alpha[p] * alpha[q] - inverse[p, q])
                    t += 1
                here = 0.5 * shares[e] * (alpha[p] ** 2 - inverse[p, p])
                G[t] += here
                if own[p] >= 0:
                    by_noise[i, own[p]] += here
                t += 1
        by_number[i] = 0.0
        if failed:
            value[i] = -np.inf
            by_noise[i] = 0.0
            continue
        _backward(
            symbols[i], numbers[i], columns[i], spans, X, distances, begins, which, V, G, by_number[i]
        )  # fmt: skip


@_compiled
def _period(rng, edges, upto):  # type: ignore[no-untyped-def]
    """A share of a period's prior, drawn by a guide."""
    u = rng.random()
    b = min(np.searchsorted(upto, u, side="right"), len(upto) - 1)
    below = upto[b - 1] if b > 0 else 0.0
    inside = (u - below) / (upto[b] - below) if upto[b] > below else 0.5
    return edges[b] + inside * (edges[b + 1] - edges[b])


@_compiled
def _guided(symbols, shares, columns, start, stop, edges, upto):  # type: ignore[no-untyped-def]
    """The log density of the periods of some nodes under the guide, beside the prior."""
    found = 0.0
    for j in range(start, stop):
        if symbols[j] == _PER:
            d = columns[j]
            b = min(np.searchsorted(edges[d], shares[j, 1], side="right"), edges.shape[1] - 1) - 1
            while b > 0 and edges[d, b + 1] <= edges[d, b]:
                b -= 1
            below = upto[d, b - 1] if b > 0 else 0.0
            found += np.log(max(upto[d, b] - below, 1e-300) / max(edges[d, b + 1] - edges[d, b], 1e-300))
    return found


@_compiled
def _draw(rng, chances, inputs, sees, edges, upto, symbols, shares, columns, at):  # type: ignore[no-untyped-def]
    """A program from the prior, with periods by the guide, into the rows from `at` on: where it ends, or −1 where there
    is no room for it.

    `chances` are cumulated probabilities by code, `sees` whether a symbol looks at a column.
    """
    open_ = 1
    while open_ > 0:
        if at == len(symbols):
            return -1
        u = rng.random()
        code = 1
        while code < len(chances) - 1 and u >= chances[code]:
            code += 1
        symbols[at] = code
        shares[at, 0], shares[at, 1] = rng.random(), rng.random()
        columns[at] = 0
        if sees[code] and inputs > 1:
            columns[at] = rng.integers(0, inputs)
        if code == _PER:
            shares[at, 1] = _period(rng, edges[columns[at]], upto[columns[at]])
        open_ += _JOINS[code] - 1
        at += 1
    return at


@_compiled
def draw_rows(rng, chances, inputs, sees, edges, upto, symbols, shares, columns):  # type: ignore[no-untyped-def]
    """Programs from the prior, one in each row; those without room are drawn again. The guide is that of the prior."""
    for i in range(len(symbols)):
        end = -1
        while end < 0:
            end = _draw(rng, chances, inputs, sees, edges, upto, symbols[i], shares[i], columns[i], 0)
        symbols[i, end:] = 0


@_compiled
def _pick(rng, count):  # type: ignore[no-untyped-def]
    return min(int(rng.random() * count), count - 1)


@_compiled
def _copy(source, start, stop, target, at):  # type: ignore[no-untyped-def]
    """Nodes from one row to another."""
    for j in range(start, stop):
        target[0][at + j - start] = source[0][j]
        target[1][at + j - start] = source[1][j]
        target[2][at + j - start] = source[2][j]


@_compiled
def replace_rows(  # type: ignore[no-untyped-def]
    rng, chances, inputs, sees, edges, upto, symbols, shares, columns, to_s, to_u, to_c, log_ratio
):
    """For every program a node, evenly, replaced by a draw from the prior with periods by the guide; and the log ratio
    of the probabilities of proposing the way back and this way, times that of the priors: log |θ|/|θ'|, and the guide's
    densities of the old periods over those of the new. −inf where there is no room."""
    most = symbols.shape[1]
    fresh = (np.zeros(most, np.int64), np.zeros((most, 2)), np.zeros(most, np.int64))
    for i in range(len(symbols)):
        spans = _spans(symbols[i])
        old, row = (symbols[i], shares[i], columns[i]), (to_s[i], to_u[i], to_c[i])
        size = spans[0]
        node = _pick(rng, size)
        length = _draw(rng, chances, inputs, sees, edges, upto, fresh[0], fresh[1], fresh[2], 0)
        grown = size - spans[node] + length
        if length < 0 or grown > most:
            _copy(old, 0, most, row, 0)
            log_ratio[i] = -np.inf
            continue
        _copy(old, 0, node, row, 0)
        _copy(fresh, 0, length, row, node)
        _copy(old, node + spans[node], size, row, node + length)
        row[0][grown:] = 0
        log_ratio[i] = np.log(size) - np.log(grown)
        log_ratio[i] += _guided(old[0], old[1], old[2], node, node + spans[node], edges, upto)
        log_ratio[i] -= _guided(fresh[0], fresh[1], fresh[2], 0, length, edges, upto)


@_compiled
def grow_rows(  # type: ignore[no-untyped-def]
    rng, chances, joins, inputs, sees, edges, upto, symbols, shares, columns, to_s, to_u, to_c, log_ratio
):
    """For every program a node, evenly, joined with a draw from the prior by + or × (or another symbol that joins two),
    on either side.

    The way back is to choose the node that was kept among all but the root. Priors and densities of what is drawn
    cancel; what is left is 2 P(joins) |θ|/(|θ'| − 1), where `joins` are cumulated probabilities of the symbols that
    join, up to P(joins), over the guide's density of new periods.
    """
    most = symbols.shape[1]
    fresh = (np.zeros(most, np.int64), np.zeros((most, 2)), np.zeros(most, np.int64))
    for i in range(len(symbols)):
        spans = _spans(symbols[i])
        old, row = (symbols[i], shares[i], columns[i]), (to_s[i], to_u[i], to_c[i])
        size = spans[0]
        node = _pick(rng, size)
        u = rng.random() * joins[-1]
        code = 1
        while code < len(joins) - 1 and u >= joins[code]:
            code += 1
        first = rng.random() < 0.5
        share0, share1 = rng.random(), rng.random()
        column = rng.integers(0, inputs) if sees[code] and inputs > 1 else 0
        length = _draw(rng, chances, inputs, sees, edges, upto, fresh[0], fresh[1], fresh[2], 0)
        grown = size + 1 + length
        if length < 0 or grown > most:
            _copy(old, 0, most, row, 0)
            log_ratio[i] = -np.inf
            continue
        _copy(old, 0, node, row, 0)
        row[0][node], row[2][node] = code, column
        row[1][node, 0], row[1][node, 1] = share0, share1
        at = node + 1
        if first:
            _copy(fresh, 0, length, row, at)
            at += length
        _copy(old, node, node + spans[node], row, at)
        at += spans[node]
        if not first:
            _copy(fresh, 0, length, row, at)
            at += length
        _copy(old, node + spans[node], size, row, at)
        row[0][grown:] = 0
        log_ratio[i] = np.log(2.0 * joins[-1] * size / (grown - 1.0))
        log_ratio[i] -= _guided(fresh[0], fresh[1], fresh[2], 0, length, edges, upto)


@_compiled
def prune_rows(rng, joins, edges, upto, symbols, shares, columns, to_s, to_u, to_c, log_ratio):  # type: ignore[no-untyped-def]
    """The way back from `grow_rows`: for every program a node, evenly among all but the root, takes the place of what
    joins it with another. −inf for a leaf, which has none."""
    most = symbols.shape[1]
    for i in range(len(symbols)):
        spans = _spans(symbols[i])
        old, row = (symbols[i], shares[i], columns[i]), (to_s[i], to_u[i], to_c[i])
        size = spans[0]
        node = 1 + _pick(rng, max(size - 1, 1))
        if size == 1:
            _copy(old, 0, most, row, 0)
            log_ratio[i] = -np.inf
            continue
        parent = node - 1  # the nearest node before that still holds it
        while parent + spans[parent] <= node or (parent + 1 != node and parent + 1 + spans[parent + 1] != node):
            parent -= 1
        _copy(old, 0, parent, row, 0)
        _copy(old, node, node + spans[node], row, parent)
        end = parent + spans[node]
        _copy(old, parent + spans[parent], size, row, end)
        shrunk = end + size - parent - spans[parent]
        row[0][shrunk:] = 0
        log_ratio[i] = -np.log(2.0 * joins[-1] * shrunk / (size - 1.0))
        log_ratio[i] += _guided(old[0], old[1], old[2], parent + 1, node, edges, upto)
        log_ratio[i] += _guided(old[0], old[1], old[2], node + spans[node], parent + spans[parent], edges, upto)
