"""
How many clusters? A sweep
==========================

A small version of the paper's sweep over the number of clusters: means are drawn from
a lattice whose room grows with their number, 100 points around each, ten repetitions.
The recipe ``synthetic`` does it in full.
"""

# %%
# Each method sees the same data. Means may be neighbours at a distance of 1, so the
# bandwidth must stay below it: 0.7, with a standard deviation of 0.25. Clusters of
# fewer than 5 points are crumbs and are not counted in the first panel; K does not mind
# them, because a crumb is perfectly pure.

import matplotlib.pyplot as plt
import numpy as np

from sms_diar.clustering import BlurringMeanShift, MeanShift, StochasticMeanShift
from sms_diar.metrics import score_clustering
from sms_diar.report.figures import COLOURS, MARKERS
from sms_diar.synthetic import draw_gaussians, draw_lattice_means

numbers = (2, 3, 4, 6, 8, 10)
repetitions = 10
each = 100
methods = {
    "mean shift": lambda seed: MeanShift(bandwidth=0.7),
    "blurring mean shift": lambda seed: BlurringMeanShift(bandwidth=0.7),
    "stochastic mean shift": lambda seed: StochasticMeanShift(
        bandwidth=0.7, random_state=seed
    ),
}
measures = ("clusters", "K", "G")
found = {
    (name, measure): np.zeros((len(numbers), repetitions))
    for name in methods
    for measure in measures
}
for row, number in enumerate(numbers):
    for seed in range(repetitions):
        rng = np.random.default_rng([number, seed])
        means = draw_lattice_means(number, rng)
        X, truth = draw_gaussians(means, [each] * number, 0.25, rng)
        for name, make in methods.items():
            labels = make(seed).fit_predict(X)
            scores = score_clustering(truth, labels)
            kept = (np.bincount(labels) >= 0.05 * each).sum()
            values = (kept, scores.purity.k, scores.majority.g)
            for measure, value in zip(measures, values, strict=True):
                found[name, measure][row, seed] = value

# %%
# Lines are medians, bands reach from the least to the most of the ten repetitions.
# Lines that coincide are drawn with different widths, the first one widest.

titles = {
    "clusters": "Clusters of 5 points or more",
    "K": "K, geometric mean of average\ncluster purity and label purity",
    "G": "G, geometric mean of the\nshares in majorities",
}


def draw(one, measure):
    """Draw one measure of all methods over the true number of clusters."""
    if measure == "clusters":
        one.plot(numbers, numbers, "k--", lw=1, zorder=5, label="true number")
    for style, name in enumerate(methods):
        values = found[name, measure]
        one.fill_between(
            numbers,
            values.min(axis=1),
            values.max(axis=1),
            color=COLOURS[style],
            alpha=0.12,
            lw=0,
        )
        one.plot(
            numbers,
            np.median(values, axis=1),
            color=COLOURS[style],
            marker=MARKERS[style],
            ms=8 - 2 * style,
            lw=4.5 - 1.5 * style,
            label=name,
        )
    one.set_title(titles[measure], fontsize=13)
    one.set(xlabel="true number of clusters", xticks=numbers)
    one.grid(visible=True, alpha=0.25)


figure, one = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
draw(one, "clusters")
one.set_ylabel("clusters found")
one.legend(fontsize=12)
plt.show()

# %%
# Quality of these clusters, measured by K and G.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for one, measure in zip(axes, ("K", "G"), strict=True):
    draw(one, measure)
    one.set(ylabel=measure, ylim=(0, 1.02))
axes[0].legend(fontsize=11, loc="lower left")
plt.show()

# %%
# With these settings the blurring and the stochastic variant join neighbours that mean
# shift keeps apart. Other bandwidths were not tried here; the recipe has more of them.
