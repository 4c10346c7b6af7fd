"""
Confidence and accuracy
=======================

The default method gives a probability to every label and to every number of speakers.
Real i-vectors of known speakers show how reliable they are.
"""

# %%
# Sessions of the i-vectors that come with the package: 6 of its 60 speakers, each
# with 5 to 20 segments. Vectors of the package know their extractor, so that
# ``sms_diar.cluster`` finds the PLDA model that belongs to them; an array knows
# nothing, and the model is estimated from the session alone.

from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import sms_diar
from sms_diar.datasets import load_digits_ivectors
from sms_diar.metrics import score_clustering
from sms_diar.report.figures import COLOURS

embeddings, speakers = load_digits_ivectors()
speakers = np.array(speakers)
true_number = 6


def draw_session(seed):
    """Rows of a session, in a drawn order."""
    rng = np.random.default_rng(seed)
    who = rng.choice(np.unique(speakers), true_number, replace=False)
    rows = [
        rng.choice(np.flatnonzero(speakers == one), rng.integers(5, 21), replace=False)
        for one in who
    ]
    return rng.permutation(np.concatenate(rows))


# %%
# Three sessions, and the probability of each number of speakers. A model that was
# trained elsewhere is surer than vectors alone, and can be sure of a wrong number.

figure, axes = plt.subplots(
    1, 3, figsize=(12, 4.2), sharex=True, sharey=True, layout="constrained"
)
for seed, one in enumerate(axes):
    rows = draw_session(seed)
    answers = {
        "with a PLDA model": sms_diar.cluster(
            embeddings.select(rows), per_recording=False
        ),
        "from the vectors alone": sms_diar.cluster(embeddings.vectors[rows]),
    }
    for place, (words, answer) in enumerate(answers.items()):
        posterior = answer.sessions[0].count_posterior
        numbers = np.array(sorted(posterior))
        shares = [posterior[number] for number in numbers]
        shift = 0.4 * place - 0.2
        one.bar(numbers + shift, shares, width=0.38, color=COLOURS[place], label=words)
    one.axvline(true_number, color="black", ls="--", lw=1, label="true number")
    one.set(xlabel="number of speakers", title=f"session {seed}", xlim=(2.5, 12.5))
axes[0].set(ylabel="probability", ylim=(0, 1.02))
axes[2].legend(fontsize=11)
plt.show()

# %%
# Forty sessions: of the labels that are held for right with some probability, how
# many are right? A label is right if its cluster and its speaker were matched to each
# other.

from scipy.optimize import linear_sum_assignment


def right_labels(truth, labels):
    """Return which labels are right if clusters and speakers are matched best."""
    _, true = np.unique(truth, return_inverse=True)
    _, own = np.unique(labels, return_inverse=True)
    table = np.zeros((true.max() + 1, own.max() + 1))
    np.add.at(table, (true, own), 1)
    first, second = linear_sum_assignment(-table)
    partner = dict(zip(second, first, strict=True))
    return np.array([partner.get(b) == a for a, b in zip(true, own, strict=True)])


sure, right, counts, probable, purities = [], [], [], [], []
for seed in range(40):
    rows = draw_session(seed)
    answer = sms_diar.cluster(embeddings.vectors[rows])
    labels = list(answer.labels.values())
    right.extend(right_labels(speakers[rows], labels))
    sure.extend(answer.confidence.values())
    posterior = answer.sessions[0].count_posterior
    counts.append(len(set(labels)))
    probable.append(posterior.get(true_number, 0.0))
    purities.append(score_clustering(speakers[rows], labels).majority.g)
sure, right = np.array(sure), np.array(right)
print(
    f"{len(sure)} labels, {100 * right.mean():.1f} % right, held for {sure.mean():.3f}"
)
print(f"number of speakers right in {counts.count(true_number)} of 40 sessions")
print(
    f"G, geometric mean of the shares in majorities: {np.mean(purities):.3f} on average"
)

# %%
# Points on the diagonal are calibrated: of the labels with a confidence of 80 %, 80 %
# are right. Bars are 95 % intervals of a proportion as if labels were independent, but
# labels of one session are not.

edges = np.array([0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0])
# sphinx_gallery_thumbnail_number = 2
figure, one = plt.subplots(figsize=(7.5, 4.8), layout="constrained")
one.plot([0, 1], [0, 1], color="black", ls="--", lw=1, label="calibrated")
for low, high in pairwise(edges):
    inside = (sure >= low) & ((sure < high) | (high == 1.0))
    if not inside.any():
        continue
    share, number = right[inside].mean(), inside.sum()
    bar = 1.96 * np.sqrt(max(share * (1 - share), 1 / number) / number)
    one.errorbar(sure[inside].mean(), share, bar, fmt="o", color=COLOURS[0])
    one.annotate(
        f"{number}",
        (sure[inside].mean(), share),
        xytext=(6, -12),
        textcoords="offset points",
        fontsize=11,
    )
one.set(
    xlabel="confidence of the label (numbers: labels)",
    ylabel="share that is right",
    xlim=(0.4, 1.01),
    ylim=(0.2, 1.03),
    title="Confidence and correctness of labels, 40 sessions",
)
one.legend(fontsize=12)
plt.show()

# %%
# The number of speakers in the same sessions, and the probability of the true number.

figure, one = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
jitter = np.random.default_rng(0).uniform(-0.15, 0.15, len(counts))
hit = np.array(counts) == true_number
for chosen, colour, marker, words in (
    (hit, COLOURS[2], "o", "number right"),
    (~hit, COLOURS[1], "s", "number wrong"),
):
    one.scatter(
        (np.array(counts) + jitter)[chosen],
        np.array(probable)[chosen],
        c=colour,
        marker=marker,
        s=24,
        label=words,
    )
one.axvline(true_number, color="black", ls="--", lw=1, label="true number")
one.set(
    xlabel="speakers found (points are spread sideways)",
    ylabel=f"probability given to {true_number} speakers",
    ylim=(0, 1.02),
    title="Sessions",
)
one.legend(fontsize=12)
plt.show()
