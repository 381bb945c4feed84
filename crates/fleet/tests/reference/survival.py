"""Writes survival.txt: stays, and what lifelines says of them. Run with `pip install lifelines==0.30.3`; the test reads the result.

One line each: `stays NAME`, `stay FROM UNTIL OUTCOME` (a: advanced, k: killed, c: still running), then
`survival AGE SHARE LOWER UPPER` (leaving counts however it ends), `incidence AGE SHARE` (advancing, kills compete) and
`log-rank NAMES... CHI2 DEGREES P`.
"""

import random
import warnings

import numpy as np
from lifelines import AalenJohansenFitter, KaplanMeierFitter
from lifelines.statistics import multivariate_logrank_test

warnings.simplefilter("ignore")
random.seed(20261202)
lines = []


def dataset(name, count, scale, late, ties):
    stays = []
    for _ in range(count):
        length = random.weibullvariate(scale, 1.6)
        kill = random.weibullvariate(scale * 2.2, 4.0)
        lost = random.uniform(scale * 0.2, scale * 4.0)
        begin = random.uniform(0, scale * 0.8) if late and random.random() < 0.5 else 0.0
        until, outcome = min((length, "a"), (kill, "k"), (lost, "c"))
        until = round(until) if ties else until
        if until > begin:
            stays.append((float(begin), float(until), outcome))
    lines.append(f"stays {name}")
    lines.extend(f"stay {begin!r} {until!r} {outcome}" for begin, until, outcome in stays)
    entry = np.array([it[0] for it in stays]) if late else None
    durations = np.array([it[1] for it in stays])
    left = np.array([it[2] != "c" for it in stays])
    fitter = KaplanMeierFitter().fit(durations, left, entry=entry)
    band = fitter.confidence_interval_survival_function_
    for age in sorted({it[1] for it in stays if it[2] != "c"}):
        share = fitter.survival_function_.loc[age].iloc[0]
        lower, upper = band.loc[age]
        lines.append(f"survival {age!r} {float(share)!r} {float(lower)!r} {float(upper)!r}")
    if not ties:
        events = np.array([{"c": 0, "a": 1, "k": 2}[it[2]] for it in stays])
        incidence = AalenJohansenFitter(calculate_variance=False).fit(durations, events, event_of_interest=1, entry=entry)
        for age in sorted({it[1] for it in stays if it[2] == "a"}):
            lines.append(f"incidence {age!r} {float(incidence.cumulative_density_.loc[age].iloc[0])!r}")
    return stays


plain = dataset("plain", 60, 1800.0, late=False, ties=False)
tied = dataset("tied", 80, 25.0, late=False, ties=True)
dataset("late", 70, 2400.0, late=True, ties=False)
slow = dataset("slow", 50, 2600.0, late=False, ties=False)
small = dataset("small", 4, 1500.0, late=False, ties=False)
for names in (["plain", "slow"], ["plain", "slow", "small"], ["plain", "tied", "slow", "small"]):
    groups = {"plain": plain, "tied": tied, "slow": slow, "small": small}
    durations = [it[1] for name in names for it in groups[name]]
    events = [it[2] != "c" for name in names for it in groups[name]]
    labels = [name for name in names for _ in groups[name]]
    test = multivariate_logrank_test(durations, labels, events)
    lines.append(f"log-rank {' '.join(names)} {float(test.test_statistic)!r} {len(names) - 1} {float(test.p_value)!r}")
with open(__file__.replace(".py", ".txt"), "w") as file:
    file.write("\n".join(lines) + "\n")
