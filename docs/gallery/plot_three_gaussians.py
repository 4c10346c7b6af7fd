"""
Three Gaussians on their way to rest
====================================

The paper's first set: three clusters of 250 points in the plane. Mean shift, blurring
mean shift and stochastic mean shift start from the same points and differ in what
they look at when a point moves.
"""

# %%
# The points, and the three means that they were drawn around. The standard deviation of
# 0.6 is the reading of the paper that reproduces its table.

import matplotlib.pyplot as plt

from sms_diar.clustering import BlurringMeanShift, MeanShift, StochasticMeanShift
from sms_diar.metrics import score_clustering
from sms_diar.report.figures import COLOURS
from sms_diar.synthetic import PAPER_MEANS, PAPER_SETS, draw_gaussians

X, truth = draw_gaussians(PAPER_MEANS, PAPER_SETS["set1"], 0.6, 1)
colours = [COLOURS[label] for label in truth]

# %%
# In mean shift each point climbs while the others stay; in blurring mean shift all move
# at once; in stochastic mean shift one drawn point moves, and the next draw sees it.

models = {
    "Mean shift": MeanShift(bandwidth=0.9),
    "Blurring mean shift": BlurringMeanShift(bandwidth=0.9),
    "Stochastic mean shift": StochasticMeanShift(
        bandwidth=0.9, random_state=0, record="states"
    ),
}
for model in models.values():
    model.fit(X)

# %%
# Final positions of the points. Points have the colour of the Gaussian they were drawn
# from; a cross is a cluster, as large as it has points. Small crosses at the rim are
# crumbs: points without near neighbours.

figure, axes = plt.subplots(
    1, 3, figsize=(12, 5.2), sharex=True, sharey=True, layout="constrained"
)
for one, (name, model) in zip(axes, models.items(), strict=True):
    scores = score_clustering(truth, model.labels_)
    one.scatter(*X.T, s=8, c=colours, alpha=0.5, linewidths=0)
    sizes = [(model.labels_ == label).sum() for label in range(model.n_clusters_)]
    large = [30 + 0.6 * size for size in sizes]
    one.scatter(*model.cluster_centers_.T, s=large, c="black", marker="x", lw=1.5)
    one.set_title(
        f"{name}\n{model.n_clusters_} clusters (true number 3)\n"
        f"K {scores.purity.k:.2f}, G {scores.majority.g:.2f}",
        fontsize=12,
    )
    one.set(xlabel="first coordinate", aspect="equal")
axes[0].set_ylabel("second coordinate")
figure.supxlabel(
    "K: geometric mean of average cluster purity and average label purity; "
    "G: that of the shares in majorities",
    fontsize=11,
)
plt.show()

# %%
# The way there, for stochastic mean shift: every point's path, from where it was
# drawn to where it rests, in the colour of its Gaussian.

states = models["Stochastic mean shift"].history_.states
# sphinx_gallery_thumbnail_number = 2
figure, one = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
for point in range(0, len(X), 2):
    one.plot(*states[:, point].T, color=colours[point], lw=0.5, alpha=0.55)
one.scatter(*X[::2].T, s=6, c=colours[::2], linewidths=0)
for label, mean in enumerate(PAPER_MEANS):
    one.scatter(
        *mean,
        s=160,
        c=COLOURS[label],
        marker="*",
        edgecolors="white",
        zorder=4,
        label=None if label else "true means",
    )
one.scatter(
    *states[-1].T, s=60, c="black", marker="x", lw=1.5, zorder=5, label="resting points"
)
one.set(
    xlabel="first coordinate",
    ylabel="second coordinate",
    aspect="equal",
    ylim=(-3.0, 4.2),
    title="Paths to rest of every second point",
)
one.legend(fontsize=12, loc="upper left")
plt.show()

# %%
# No step lowers the objective, the sum of the kernel over all pairs. Most is gained
# in the first few moves of each point.

history = StochasticMeanShift(bandwidth=0.9, random_state=0, record="objective")
history = history.fit(X).history_
figure, one = plt.subplots(figsize=(7, 3), layout="constrained")
one.plot(history.steps / len(X), history.objective, color=COLOURS[0])
one.set(xlabel="moves for each point", ylabel="objective L")
one.grid(visible=True, alpha=0.25)
plt.show()
