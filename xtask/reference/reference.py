"""Writes the reference values for AgentV's statistics. See README.md."""

import itertools
import json
import math
from pathlib import Path

import numpy
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import proportion_confint

PLACE = Path(__file__).parents[2] / "crates" / "agentv-core" / "tests" / "reference"
SCIPY = f"SciPy {scipy.__version__}"
STATSMODELS = f"statsmodels {statsmodels.__version__}"
FORMULA = f"the formula, with distributions of {SCIPY}"
ENUMERATION = "enumeration of all outcomes"


def wilson_ends(rate, size, confidence):
    z = stats.norm.ppf((1 + confidence) / 2)
    centre = (rate + z * z / (2 * size)) / (1 + z * z / size)
    reach = z * math.sqrt(rate * (1 - rate) / size + z * z / (4 * size * size)) / (1 + z * z / size)
    return max(centre - reach, 0.0), min(centre + reach, 1.0)


def wilson():
    for passed, trials in [(0, 1), (1, 1), (0, 10), (8, 10), (10, 10), (5, 6), (1, 3), (49, 50), (163, 200), (7, 100000)]:
        for confidence in (0.8, 0.95, 0.99):
            low, high = proportion_confint(passed, trials, alpha=1 - confidence, method="wilson")
            yield {"passed": passed, "trials": trials, "confidence": confidence, "low": low, "high": high}


def group_interval():
    """
    Groups of values from 0 to 1, by the sum and the number of values of each. The effective size is m(1 - m) / SE² of
    these groups with one more of ones and one of zeros, both of the mean size, times the share of values that are not
    of these two.
    """
    samples = [
        [(1, 1)],
        [(1, 1), (0, 1), (0.25, 1)],
        [(3, 3), (1, 3), (1, 3), (0, 3)],
        [(5, 5)] * 59 + [(4, 5)],
        [(5, 5)] * 60,
        [(2, 5), (3, 5)] * 10,
        [(4.5, 5), (0.2, 1), (1.75, 3), (0, 2)],
        [(20, 20), (0, 1), (1, 1)],
    ]
    for groups in samples:
        sums, sizes = (numpy.array(column, dtype=float) for column in zip(*groups))
        mean, most, fewest = sums.sum() / sizes.sum(), sizes.sum(), sizes.sum() ** 2 / (sizes**2).sum()
        all_sums = numpy.append(sums, [sizes.mean(), 0])
        all_sizes = numpy.append(sizes, [sizes.mean()] * 2)
        all_mean, count = all_sums.sum() / all_sizes.sum(), len(all_sums)
        squares = ((all_sums - all_mean * all_sizes) ** 2).sum()
        error = math.sqrt(squares * count / (count - 1)) / all_sizes.sum()
        size = all_mean * (1 - all_mean) / error**2 * most / all_sizes.sum()
        low, high = wilson_ends(mean, min(max(size, fewest), most), 0.95)
        yield {"groups": groups, "confidence": 0.95, "mean": mean, "low": low, "high": high}


def normal_quantile():
    for probability in (1e-9, 0.001, 0.025, 0.2, 0.5, 0.8, 0.9, 0.95, 0.975, 0.9999, 1 - 1e-9):
        yield {"probability": probability, "quantile": stats.norm.ppf(probability)}


def student_quantile():
    for freedom in (1, 2, 3, 5, 9.5, 30, 199, 10000):
        for probability in (0.025, 0.6, 0.95, 0.975, 0.9995):
            quantile = stats.t.ppf(probability, freedom)
            yield {"probability": probability, "freedom": freedom, "quantile": quantile}


def student_interval():
    samples = [[1, 2, 3, 4, 5], [0.1, -0.2], [0.5, 0.5, 0.75, -1, 0, 0, 0.25], [1e-3, 2e-3, 4e-3]]
    for values in samples:
        for confidence in (0.8, 0.95):
            low, high = student_ends(values, confidence)
            yield {"values": values, "confidence": confidence, "mean": numpy.mean(values), "low": low, "high": high}


def student_ends(values, confidence):
    return stats.t.interval(confidence, len(values) - 1, loc=numpy.mean(values), scale=stats.sem(values))


def exact_mcnemar(losses, wins):
    return mcnemar([[0, wins], [losses, 0]], exact=True).pvalue


def mcnemar_tests():
    for losses, wins in [(0, 0), (0, 1), (0, 5), (0, 6), (1, 8), (8, 1), (7, 8), (5, 20), (30, 34), (100, 150), (490, 510)]:
        yield {"losses": losses, "wins": wins, "p_value": exact_mcnemar(losses, wins)}


def mcnemar_power():
    """The chance that the exact test rejects and that there are more losses than wins."""
    samples = [(6, 1.0, 0.0), (10, 0.4, 0.1), (20, 0.3, 0.05), (20, 0.2, 0.2), (40, 0.15, 0.02), (60, 0.25, 0.1)]
    for cases, lost, won in [*samples, (60, 0.1, 0.25)]:
        for level in (0.05, 0.01):
            spread = stats.multinomial(cases, [lost, won, 1 - lost - won])
            power = 0.0
            for losses, wins in itertools.product(range(cases + 1), repeat=2):
                if wins < losses <= cases - wins and exact_mcnemar(losses, wins) <= level:
                    power += spread.pmf([losses, wins, cases - losses - wins])
            yield {"cases": cases, "lost": lost, "won": won, "level": level, "power": power}


def bonett_price():
    """With a = (w + 1) / (n + 2) and b = (l + 1) / (n + 2): a - b ± z √((a + b - (a - b)²) / (n + 2)), cut at ±1."""
    for cases, losses, wins in [(3, 0, 0), (6, 0, 6), (6, 6, 0), (10, 1, 4), (20, 3, 9), (60, 20, 5), (200, 12, 31)]:
        for confidence in (0.9, 0.95):
            a, b = (wins + 1) / (cases + 2), (losses + 1) / (cases + 2)
            reach = stats.norm.ppf((1 + confidence) / 2) * math.sqrt((a + b - (a - b) ** 2) / (cases + 2))
            case = {"cases": cases, "losses": losses, "wins": wins, "confidence": confidence}
            yield {**case, "low": max(a - b - reach, -1.0), "high": min(a - b + reach, 1.0)}


def sign_flip():
    samples = [
        [1, 1, 1, 1, 1],
        [1, 2, 3],
        [-1, 2, 3],
        [0.5, -0.25, 0.125, 1, 0.75, -0.5],
        [0.4, 0.1, 0.3, 0.2, -0.15, 0.6, 0.05, 0.35],
        [-0.9, -0.8, 0.1, -0.7, -0.6, 0.2, -0.5, -0.4, 0.3, -0.25],
        # Darwin's maize, in eighths of an inch.
        [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48],
    ]
    for differences in samples:
        yield {"differences": differences, "p_value": flipped(differences)}


def flipped(differences):
    """The p-value of the exact sign-flip test."""
    found = stats.permutation_test(
        (differences,), numpy.sum, permutation_type="samples", n_resamples=numpy.inf, vectorized=True
    )
    return found.pvalue


def strata():
    """
    Cases with more trials in one run than in the other. The statistic is the sum over cases of mean(b) - mean(a).
    `permuted` is the share of all ways to hand out the trials of each case to a and b that have a statistic at least as
    far from 0, `flipped` the same for all signs of the cases' differences. The larger one is the p-value.
    """
    samples = [
        [([0, 0], [1, 1, 1]), ([0, 1], [1, 1]), ([0, 0], [0, 1])],
        [([0.2, 0.4, 0.6], [0.9]), ([0.5], [0.7, 0.8]), ([0.1, 0.3], [0.2, 0.35])],
        [([1, 1, 1], [0, 0]), ([1, 0, 1], [0, 1]), ([1, 1, 0], [0, 0]), ([1], [1, 0, 0, 0])],
        [([0.9, 0.8], [0.1]), ([0.7], [0.2, 0.3]), ([0.6, 0.9], [0.4]), ([0.8], [0.1, 0.5]), ([1.0, 0.7], [0.3])],
        [([0, 1], [1, 0]), ([0.5, 0.5], [0.5]), ([0.25], [1, 0.5])],
        # All cases differ in one direction, by less than their trials do.
        [([0.4 + step / 100], [0.9, 0.2]) for step in range(7)],
    ]
    for sample in samples:
        differences = [numpy.mean(b) - numpy.mean(a) for a, b in sample]
        p_values = {"permuted": permuted(sample), "flipped": flipped(differences)}
        low, high = student_ends(differences, 0.95)
        case = {"strata": [{"a": a, "b": b} for a, b in sample], **p_values, "p_value": max(p_values.values())}
        yield {**case, "mean": numpy.mean(differences), "low": low, "high": high}


def permuted(sample):
    """The p-value of the exact permutation of trials within cases."""
    seen = sum(numpy.mean(b) - numpy.mean(a) for a, b in sample)
    totals = [sum(way) for way in itertools.product(*(list(differences_of(a, b)) for a, b in sample))]
    return sum(abs(total) >= abs(seen) - 1e-9 for total in totals) / len(totals)


def differences_of(a, b):
    """mean(b) - mean(a) for every choice of which trials are of b."""
    pool = a + b
    for chosen in itertools.combinations(range(len(pool)), len(b)):
        of_b = sum(pool[index] for index in chosen)
        yield of_b / len(b) - (sum(pool) - of_b) / len(a)


FILES = {
    "wilson": ("Wilson's interval of a share", STATSMODELS, wilson),
    "group_interval": ("the interval of the mean of values in groups", FORMULA, group_interval),
    "normal_quantile": ("quantiles of the standard normal distribution", SCIPY, normal_quantile),
    "student_quantile": ("quantiles of Student's distribution", SCIPY, student_quantile),
    "student_interval": ("Student's interval of a mean", SCIPY, student_interval),
    "mcnemar": ("McNemar's exact test, two-sided", STATSMODELS, mcnemar_tests),
    "mcnemar_power": ("the power of McNemar's exact test to find losses", f"{ENUMERATION}, {STATSMODELS}", mcnemar_power),
    "bonett_price": ("the interval of a difference of paired shares by Bonett and Price", FORMULA, bonett_price),
    "sign_flip": ("the sign-flip permutation test, exact and two-sided", SCIPY, sign_flip),
    "strata": ("trials permuted within cases, and sign flips, two-sided", f"{ENUMERATION}, {SCIPY}", strata),
}


def plain(value):
    """NumPy's numbers as Python's, which JSON can have."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    return value.item() if isinstance(value, numpy.generic) else value


def main():
    PLACE.mkdir(parents=True, exist_ok=True)
    for name, (about, source, cases) in FILES.items():
        lines = ",\n".join(f"    {json.dumps(plain(case))}" for case in cases())
        head = f'  "about": {json.dumps(about)},\n  "source": {json.dumps(source)},\n'
        (PLACE / f"{name}.json").write_text(f'{{\n{head}  "cases": [\n{lines}\n  ]\n}}\n')


if __name__ == "__main__":
    main()
