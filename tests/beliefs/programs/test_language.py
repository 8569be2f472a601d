"""Programs as text, as values, and as kernels."""

import itertools

import numpy as np
import pytest

import gainful as gf
from gainful.beliefs.programs import Grammar, Program

TEXTS = [
    "(C 0.5)",
    "(+ (LIN 0.3) (PER 0.5 0.1))",
    "(× (SE 0.2) (+ (C 1.0) (SE@1 0.7)))",
    "(+ (+ (RQ 0.1 2.0) (MAT 0.4)) (× (LIN@2 -0.5) (SE 0.2)))",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_program_is_read_and_written_without_loss(text):
    assert str(Program.read(text)) == text
    assert Program.read(text.replace("×", "*").replace("(", " ( ")) == Program.read(text)
    rng = np.random.default_rng(0)
    drawn = Program.read(text).with_values(rng.random(len(Program.read(text).values)))
    assert Program.read(str(drawn)) == drawn  # to the last digit


def _commuted(program):
    """Every program that differs from this one in the order of what is joined alone."""
    several = [_commuted(part) for part in program.parts]
    for parts in itertools.product(*several):
        for order in set(itertools.permutations(parts)):
            yield Program(program.symbol, program.numbers, order, program.column)


def test_commuted_programs_are_equal_in_canonical_form_and_others_are_not():
    program = Program.read("(+ (× (SE 0.2) (SE 0.1)) (+ (SE 0.2) (PER 0.3 0.4)))")
    everyone = set(_commuted(program))
    assert len(everyone) == 8
    assert {each.canonical for each in everyone} == {program.canonical}
    assert {each.structure for each in everyone} == {"(+ (+ PER SE) (× SE SE))"}
    other = Program.read("(+ (× (SE 0.1) (SE 0.1)) (+ (SE 0.2) (PER 0.3 0.4)))")
    assert other.structure == program.structure
    assert other.canonical != program.canonical


def test_nodes_are_counted_and_replaced_in_the_order_of_the_text():
    program = Program.read("(+ (× (SE 0.2) (LIN 0.1)) (PER 0.3 0.4))")
    assert [node.symbol for node in program.nodes()] == ["+", "×", "SE", "LIN", "PER"]
    assert program.size == 5
    assert program.values == (0.2, 0.1, 0.3, 0.4)
    new = Program.read("(C 0.9)")
    wanted = ["(C 0.9)", "(+ (C 0.9) (PER 0.3 0.4))", "(+ (× (C 0.9) (LIN 0.1)) (PER 0.3 0.4))",
              "(+ (× (SE 0.2) (C 0.9)) (PER 0.3 0.4))", "(+ (× (SE 0.2) (LIN 0.1)) (C 0.9))"]  # fmt: skip
    assert [str(program.replaced(i, new)) for i in range(5)] == wanted


def test_the_kernel_of_a_program_is_what_its_forms_say():
    x = np.linspace(-1, 1, 7)
    X, d = x[:, None], x[:, None] - x
    forms = {
        "(C 0.4)": np.full((7, 7), 0.4),
        "(LIN 0.3)": np.outer(x - 0.3, x - 0.3),
        "(SE 0.2)": np.exp(-(d**2) / (2 * 0.2**2)),
        "(PER 0.6 0.4)": np.exp(-2 * np.sin(np.pi * d / 0.4) ** 2 / 0.6**2),
    }
    for text, wanted in forms.items():
        np.testing.assert_allclose(Program.read(text).kernel(X), wanted, rtol=1e-12, atol=1e-15)
    both = Program.read("(+ (× (LIN 0.3) (SE 0.2)) (PER 0.6 0.4))").kernel(X)
    np.testing.assert_allclose(both, forms["(LIN 0.3)"] * forms["(SE 0.2)"] + forms["(PER 0.6 0.4)"], rtol=1e-12)
    two = np.column_stack([x, x[::-1] ** 2])
    np.testing.assert_allclose(Program.read("(SE@1 0.2)").kernel(two), gf.SE(0.2, 1.0)(two[:, 1:]), rtol=1e-12)


@pytest.mark.parametrize(
    "text",
    ["", "SE", "(SE)", "(SE 0.1 0.2)", "(SE 0.1", "(SE 0.1))", "(SE 0.1) (C 1)", "(+ (SE 0.1))", "(+ 0.1 (SE 0.1))",
     "(SINE 0.1)", "(SE@a 0.1)", "(SE nan)", "(SE inf)", "(SE one)", "()", "(((", 7, None],
    ids=str,
)  # fmt: skip
def test_what_is_no_program_is_said_to_be_none(text):
    with pytest.raises(gf.InvalidInput, match="program"):
        Program.read(text)


def test_sizes_and_symbols_are_as_frequent_as_the_prior_has_them():
    grammar, rng, count = Grammar(), np.random.default_rng(1), 40_000
    drawn = [grammar.draw(rng) for _ in range(count)]
    sizes = np.bincount([each.size for each in drawn], minlength=12)
    for size, wanted in {1: 0.8, 3: 0.128, 5: 0.04096, 7: 0.01638, 9: 0.00734}.items():
        assert sizes[size] / count == pytest.approx(wanted, abs=4 * np.sqrt(wanted / count))
    assert np.mean([each.has("PER") for each in drawn]) == pytest.approx(0.30278, abs=0.01)
    assert np.mean([each.has("PER") and each.has("LIN") for each in drawn]) == pytest.approx(0.0440, abs=0.005)
    plus = np.mean([each.structure == "(+ LIN PER)" for each in drawn])
    assert plus == pytest.approx(0.008, abs=0.002)


def test_the_log_prior_is_exact_and_sums_to_one_with_what_is_larger():
    grammar = Grammar()
    assert grammar.log_prior("(+ (LIN 0.3) (PER 0.5 0.1))") == pytest.approx(np.log(0.004))
    assert grammar.log_prior("(LIN 1.3)") == -np.inf
    assert grammar.log_prior("(RQ 0.3 0.3)") == -np.inf
    assert grammar.log_prior("(LIN@1 0.3)") == -np.inf
    two = Grammar(inputs=2)
    assert two.log_prior("(+ (LIN@1 0.3) (PER 0.5 0.1))") == pytest.approx(np.log(0.004 / 4))
    own = Grammar({"SE": 0.7, "×": 0.3}, {"SE.lengthscale": gf.LogNormal(0.0, 0.5)})
    density = gf.LogNormal(0.0, 0.5).log_density(2.0)
    assert own.log_prior("(SE 2.0)") == pytest.approx(np.log(0.7) + density)
    leaves = [Program(symbol, (0.5,) * n) for symbol, n in (("C", 1), ("LIN", 1), ("SE", 1), ("PER", 2))]
    joined = [Program(s, (), pair) for s in ("+", "×") for pair in itertools.product(leaves, leaves)]
    total = sum(np.exp(grammar.log_structure(each)) for each in [*leaves, *joined])
    assert total == pytest.approx(0.8 + 0.128)


@pytest.mark.parametrize(
    "make",
    [lambda: Grammar({}), lambda: Grammar({"SE": 0.5}), lambda: Grammar({"SE": 0.4, "+": 0.6}),
     lambda: Grammar({"SIN": 1.0}), lambda: Grammar({"SE": -1.0, "C": 2.0}), lambda: Grammar("SE"),
     lambda: Grammar(priors={"SE.period": gf.Uniform(0, 1)}), lambda: Grammar(priors={"SE.lengthscale": 1.0}),
     lambda: Grammar(noise=0.1), lambda: Grammar(inputs=0)],
)  # fmt: skip
def test_a_grammar_that_cannot_be_is_refused(make):
    with pytest.raises(gf.InvalidInput):
        make()
