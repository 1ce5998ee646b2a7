r"""
Chunks of sentences
===================

*Chunking* divides a sentence into phrases that do not overlap: [Confidence]\ :sub:`NP` [in]\ :sub:`PP` [the
pound]\ :sub:`NP` [is widely expected to take]\ :sub:`VP` [another sharp dive]\ :sub:`NP`. As labels of words, the first
word of a noun phrase is ``B-NP``, the others are ``I-NP``, and words outside of all phrases are ``O``: a sequence in
which not every label may follow every other. This page learns it from the shared task of CoNLL-2000 [1]_, with a chain
of five million weights, and beside it with a support vector machine for single words that sees the same features.
"""

import gzip
from itertools import groupby

import matplotlib.pyplot as plt
import numpy as np

from mercer import LinearSVC
from mercer.datasets import find_file
from mercer.structured import Chain, StructuredSVM, TokenFeatures, chunk_f1

# %%
# The data
# --------
#
# Sections 15 to 18 of the Wall Street Journal corpus to learn from, section 20 to test; a word comes with a part of
# speech that a program has found. They do not come with the package: where the files ``conll2000_train.txt.gz`` and
# ``conll2000_test.txt.gz`` are not in the folder ``MERCER_DATASETS``, there is nothing to see below.


def read(path):
    """Sentences of words with their parts of speech, and their labels."""
    with gzip.open(path, "rt") as file:
        sentences = [
            [line.split() for line in lines] for full, lines in groupby(file, lambda line: line != "\n") if full
        ]
    return [[(word, tag) for word, tag, _ in s] for s in sentences], [[label for *_, label in s] for s in sentences]


paths = [find_file(f"conll2000_{part}.txt.gz") for part in ("train", "test")]
present = None not in paths
if present:
    (X, y), (new_X, new_y) = map(read, paths)
    print(
        f"{len(X)} sentences to learn from, {len(new_X)} to test, {len({label for one in y for label in one})} labels"
    )
else:
    print("There are no files conll2000_train.txt.gz and conll2000_test.txt.gz: nothing is computed.")

# %%
# Features
# --------
#
# `TokenFeatures` sees a word, its first and last letters, its shape and whatever else is given with it: here its part
# of speech, and this and the word itself with those before. The window of the chain adds the same of two words to the
# left and two to the right.


def with_pairs(sentence):
    """Tokens with what stands before them."""
    before = [("^", "^"), *sentence]
    return [
        (word, tag, f"{last_tag}|{tag}", f"{last.lower()}|{word.lower()}")
        for (word, tag), (last, last_tag) in zip(sentence, before, strict=False)
    ]


if present:
    X, new_X = [with_pairs(sentence) for sentence in X], [with_pairs(sentence) for sentence in new_X]
    print(X[0][1])

# %%
# Learning
# --------
#
# The machine for single words is given the rows that the chain makes of them. F1 counts chunks that are found exactly.

if present:
    chain = StructuredSVM(Chain(TokenFeatures(min_count=2), window=2), C=0.03, gap_tol=0.02).fit(X, y)
    found = chain.predict(new_X)
    print(f"{chain.coef_.size} weights, {chain.n_iter_} passes, gap {chain.result_.relative_gap:.1%}")

    rows, new_rows = (chain.model_.prepare(samples).rows for samples in (X, new_X))
    single = LinearSVC(C=0.03, gap_tol=0.05).fit(rows, np.concatenate(y))
    ends = np.cumsum([len(sentence) for sentence in new_X])[:-1]
    found_singly = np.split(single.predict(new_rows), ends)
    for name, labels in {"words one by one": found_singly, "sentences": found}.items():
        right = np.mean(np.concatenate(labels) == np.concatenate(new_y))
        print(f"{name}: {right:.2%} of labels right, F1 of chunks {chunk_f1(new_y, labels):.2%}")

# %%
# Published are 93.48 % for pairs of support vector machines with polynomial kernels, the best of the shared task [2]_,
# and 93.91 % for eight such systems that vote [3]_; for noun phrases alone, 94.38 % for a conditional random
# field [4]_.
#
# Phrases of one kind
# -------------------
#
# F1 of every kind of phrase that is there a hundred times.


def only(labels, kind):
    """All other phrases are outside."""
    return [[label if label[2:] == kind else "O" for label in sentence] for sentence in labels]


if present:
    starts = [label[2:] for sentence in new_y for label in sentence if label[0] == "B"]
    kinds = [kind for kind in sorted(set(starts), key=starts.count) if starts.count(kind) >= 100]
    figure, axes = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    for labels, name, marker in ((found_singly, "words one by one", "o"), (found, "sentences", "D")):
        values = [chunk_f1(only(new_y, kind), only(labels, kind)) for kind in kinds]
        print(f"{name}: F1 of noun phrases {values[kinds.index('NP')]:.2%}")
        axes.plot(values, range(len(kinds)), marker, label=name)
    axes.set_yticks(range(len(kinds)), [f"{kind} ({starts.count(kind)})" for kind in kinds])
    axes.set(xlabel="F1", ylabel="phrases in the test")
    axes.grid(axis="x", alpha=0.3)
    axes.legend()

# %%
# What cannot follow
# ------------------
#
# ``I-NP`` goes on with a noun phrase: after ``O`` or ``B-VP`` it makes no sense, and nobody has told the chain so. The
# machine for single words does not know what it has said of the word before.

if present:
    labels = chain.model_.classes_
    n = len(labels)
    start = n * chain.model_.n_columns_
    frequent = [k for k in range(n) if labels[k] == "O" or labels[k][2:] in kinds[-4:]]
    transitions = chain.coef_[start : start + n * n].reshape(n, n)[np.ix_(frequent, frequent)]
    largest = np.abs(transitions).max()
    figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
    image = axes.imshow(transitions, cmap="PuOr_r", vmin=-largest, vmax=largest)
    axes.set_xticks(range(len(frequent)), labels[frequent], rotation=90)
    axes.set_yticks(range(len(frequent)), labels[frequent])
    axes.set(xlabel="next label", ylabel="label")
    figure.colorbar(image, label="weight")

    for name, sentences in {"words one by one": found_singly, "sentences": found}.items():
        bad = sum(
            after[0] == "I" and before[2:] != after[2:]
            for one in sentences
            for before, after in zip(["O", *one], one, strict=False)
        )
        print(f"{name}: {bad} labels go on with a phrase that is not there")

# %%
# References
# ----------
#
# .. [1] E. F. Tjong Kim Sang, S. Buchholz, Introduction to the CoNLL-2000 shared task: chunking, CoNLL 2000.
# .. [2] T. Kudoh, Y. Matsumoto, Use of support vector learning for chunk identification, CoNLL 2000.
# .. [3] T. Kudo, Y. Matsumoto, Chunking with support vector machines, NAACL 2001.
# .. [4] F. Sha, F. Pereira, Shallow parsing with conditional random fields, HLT-NAACL 2003.
