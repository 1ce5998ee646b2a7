r"""
Learning to parse
=================

A grammar says which trees a sentence may have, and there are many of them. With a weight for each of its rules, the
best tree is the one with the largest sum of weights, and a support vector machine for structured outputs learns weights
for which the right tree is ahead of all others, by more the more of their constituents are wrong ([1]_, section 2.6).
This page parses the sentence of figure 2.5 of [1]_, and then some of the web.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction import DictVectorizer

from mercer import LinearSVC
from mercer.data import Tree
from mercer.datasets import find_file
from mercer.plots import TreeDisplay
from mercer.structured import Parser, StructuredSVM, bracket_f1, read_conllu

# %%
# Paul ate the pie
# ----------------
#
# Five sentences with their trees, none of them the one in question.

bank = [
    Tree.from_string(text)
    for text in (
        "(S (NP (N Mary)) (VP (V ate) (NP (Det the) (N apple))))",
        "(S (NP (Det the) (N dog)) (VP (V saw) (NP (N Paul))))",
        "(S (NP (N Paul)) (VP (V saw) (NP (Det a) (N pie)) (PP (P with) (NP (Det the) (N dog)))))",
        "(S (NP (NP (Det the) (N dog)) (PP (P with) (NP (Det a) (N pie)))) (VP (V saw) (NP (N Mary))))",
        "(S (NP (Det a) (N pie)))",
    )
]
machine = StructuredSVM(Parser(), C=10.0).fit([tree.leaves for tree in bank], bank)
(tree,) = machine.predict([["Paul", "ate", "the", "pie"]])
print(tree)

_, ax = plt.subplots(figsize=(4.4, 3.4), layout="constrained")
TreeDisplay.from_tree(tree, ax=ax, fontsize=12)
plt.show()

# %%
# The joint features :math:`\Psi(x, y)` count the rules of the tree. These are the eight that [1]_ prints, with its VB
# read as VP; NP -> N is among those that it leaves out.

counts = dict(zip(map(str, machine.model_.grammar_.rules), machine.model_.grammar_.counts(tree), strict=True))
for rule in (
    "S -> NP VP",
    "S -> NP",
    "NP -> Det N",
    "VP -> V NP",
    "N -> 'Paul'",
    "V -> 'ate'",
    "Det -> 'the'",
    "N -> 'pie'",
):
    print(f"{counts[rule]:.0f}   {rule}")

# %%
# A sentence can be ambiguous: who is with Paul, Mary or the dog? The weights say what belongs together; above the trees
# are their sums. The machine has learnt from the third sentence of the bank that it belongs to the verb. The node of
# the other tree that the best one does not have is red.

sentence = ["Mary", "saw", "the", "dog", "with", "Paul"]
grammar = machine.model_.grammar_
to_the_noun = machine.coef_.copy()
to_the_noun[grammar.rules.index(("NP", ("NP", "PP")))] += 10.0
(learnt,), (other,) = machine.predict([sentence]), grammar.parse([sentence], to_the_noun)
_, axes = plt.subplots(ncols=2, figsize=(10.0, 3.6), layout="constrained")
for ax, tree, title in zip(axes, (learnt, other), ("the best tree", "another one"), strict=True):
    TreeDisplay.from_tree(tree, learnt, ax=ax)
    ax.set_title(f"{title}: {machine.coef_ @ grammar.counts(tree):.2f}")
plt.show()

# %%
# Sentences of the web
# --------------------
#
# The English Web Treebank of Universal Dependencies [2]_ does not come with the package: where the files
# ``ud_english_ewt_dev.conllu.gz`` and ``ud_english_ewt_test.conllu.gz`` are not in the folder ``MERCER_DATASETS``,
# there is nothing to see below. Its trees say for every word which other word it depends on. Where dependencies do not
# cross, a word with all that depends on it is a constituent: it takes what is to its left, one word or phrase after the
# other, and then what is to its right. A prime is for a word with what it takes on its left, a P for one that takes
# something on its right.


paths = [find_file(f"ud_english_ewt_{part}.conllu.gz") for part in ("dev", "test")]
present = None not in paths
if present:
    banks = [[tree.without_punctuation() for tree in read_conllu(path) if tree.projective] for path in paths]
    learning, testing = ([tree for tree in bank if 1 < len(tree.words) <= 20] for bank in banks)
    n_words = [sum(len(tree.words) for tree in bank) for bank in (learning, testing)]
    print(f"{len(learning)} sentences of {n_words[0]} words to learn from, {len(testing)} of {n_words[1]} to test")
    shown = next(tree for tree in learning if tree.words[:3] == ("I", "ran", "across"))
    _, ax = plt.subplots(figsize=(9.0, 4.2), layout="constrained")
    TreeDisplay.from_tree(shown.constituents(), ax=ax, fontsize=9)
    plt.show()
else:
    print("There are no files ud_english_ewt_dev.conllu.gz and ud_english_ewt_test.conllu.gz: nothing is computed.")

# %%
# A flat machine
# --------------
#
# A tree can also be made step by step: a word is put on a stack, or the two trees on top of it become one, with a
# label. That makes a classification problem of parsing: what is the next step, given the two labels on top and the next
# word? A linear support vector machine learns it from all steps of all trees. It takes one decision after the other,
# never comes back to one, and sees something that rules do not: the next word.


def steps(tree):
    """The steps that make a tree: "shift" for every word, and the label of every inner node."""
    if not tree.children:
        return ["shift"]
    return [step for child in tree.children for step in steps(child)] + [tree.label]


def after(stack, words, step):
    """The stack and the words that are left."""
    if step == "shift":
        return [*stack, Tree(words[0])], words[1:]
    return [*stack[:-2], Tree(step, stack[-2:])], words


def seen(stack, words):
    """What is known before a step, as features."""
    below, top = ["^", "^", *(tree.label for tree in stack)][-2:]
    ahead = words[0] if words else "$"
    parts = f"2={below}", f"1={top}", f"0={ahead}"
    return dict.fromkeys([*parts, " ".join(parts[:2]), " ".join(parts[1:]), " ".join(parts)], 1.0)


def flat_parses(trees, sentences, rules):
    """Trees of sentences, step by step, by a machine that has learnt from trees; what has no rule is no step."""
    known = []
    for tree in trees:
        state = [], tree.leaves
        for step in steps(tree)[:-1]:  # the root S comes last, whatever was done
            known.append((seen(*state), step))
            state = after(*state, step)
    features = DictVectorizer()
    X = features.fit_transform([before for before, _ in known])
    machine = LinearSVC(C=0.1, gap_tol=0.05).fit(X, [step for _, step in known])
    states = [([], words) for words in sentences]
    unfinished = list(range(len(states)))
    while unfinished:
        values = machine.decision_function(features.transform([seen(*states[k]) for k in unfinished]))
        going_on = []
        for k, row in zip(unfinished, values, strict=True):
            stack, words = states[k]
            top = tuple(tree.label for tree in stack[-2:])
            possible = [len(words) > 0 if step == "shift" else (step, top) in rules for step in machine.classes_]
            if any(possible):
                states[k] = after(stack, words, machine.classes_[np.argmax(np.where(possible, row, -np.inf))])
                going_on.append(k)
        unfinished = going_on
    return [Tree("S", stack) for stack, _ in states]


# %%
# Two ways to weigh rules
# -----------------------
#
# Sentences are parsed as sequences of tags: that *pie* is a noun is given, what it belongs to is not. The grammar is
# that of the trees to learn from. The weights of maximum likelihood are the logarithms of how often a symbol becomes
# what it becomes: a probabilistic context-free grammar. The machine has the same grammar, the same features and the
# default price. Phrases are named by the tag of their head, or by its relation to the word that it depends on, which is
# harder. Where the grammar has no tree, the fewest trees that cover the sentence count. The measure is the F1 of
# labelled brackets, without roots. No figure has been published for constituents made in this way.

if present:
    rates, found = {}, {}
    for labels in ("tags", "relations"):
        trees, new = ([tree.constituents("tags", labels) for tree in bank] for bank in (learning, testing))
        sentences = [tree.leaves for tree in new]
        machine = StructuredSVM(Parser(partial=True), gap_tol=0.01).fit([tree.leaves for tree in trees], trees)
        grammar, result = machine.model_.grammar_, machine.result_
        weights = {"maximum likelihood": grammar.log_probabilities(trees), "large margin": machine.coef_}
        print(f"{labels}: {len(grammar)} rules, {result.n_iter} passes in {result.seconds:.1f} s", end="")
        print(f" to a gap of {100 * result.relative_gap:.2f} %")
        for way, w in weights.items():
            began = time.perf_counter()
            found[labels, way] = grammar.parse(sentences, w, partial=True)
            print(f"   {way:18}  {n_words[1] / (time.perf_counter() - began):,.0f} words per second")
        rules = {(rule.head, tuple(getattr(item, "label", item) for item in rule.body)) for rule in grammar.rules}
        found[labels, "flat, step by step"] = flat_parses(trees, sentences, rules)
        for way in (*weights, "flat, step by step"):
            parses = found[labels, way]
            rates[labels, way] = bracket_f1(new, parses, root=False)
            exact = np.mean([tree == parse for tree, parse in zip(new, parses, strict=True)])
            print(f"   {way:18}  F1 {rates[labels, way]:.3f}, {exact:.1%} of the trees right")
        found[labels, "right"] = new

# %%
# Long sentences have far more trees, and are hard for all. The large margin is ahead of maximum likelihood, or level,
# at every length. The flat machine shows what is missing in the features, and what a search over all trees is good for.
# Tags of phrases follow from what they are made of, and there a look at the next word is worth more than the search.
# Relations are known only from what comes later, and one decision after the other goes wrong.

if present:
    bins = [(2, 5), (6, 8), (9, 11), (12, 14), (15, 17), (18, 20)]
    _, axes = plt.subplots(ncols=2, figsize=(9.6, 3.8), layout="constrained", sharey=True)
    for ax, labels in zip(axes, ("tags", "relations"), strict=True):
        for way, marker in (("flat, step by step", "s:"), ("maximum likelihood", "o--"), ("large margin", "D-")):
            new, parses = found[labels, "right"], found[labels, way]
            pairs = [[pair for pair in zip(new, parses, strict=True) if a <= len(pair[0].leaves) <= b] for a, b in bins]
            scores = [100 * bracket_f1(*zip(*some, strict=True), root=False) for some in pairs]
            ax.plot(range(len(bins)), scores, marker, label=f"{way}, {100 * rates[labels, way]:.1f} in all")
        ax.set_xticks(range(len(bins)), [f"{a}-{b}" for a, b in bins])
        ax.set(xlabel="words", title=f"labels are {labels}")
        ax.grid(alpha=0.3)
        ax.legend(loc="lower left", fontsize=8)
    axes[0].set_ylabel("F1 of brackets, %")
    plt.show()

# %%
# A sentence of the test set that the machine parses as the treebank does, and maximum likelihood does not.

if present:

    def worded(tree, words):
        """A tree of tags with words below them, taken from an iterator."""
        if not tree.children:
            return Tree(tree.label, [next(words)])
        return Tree(tree.label, [worded(child, words) for child in tree.children])

    new, likely, learnt = (found["tags", way] for way in ("right", "maximum likelihood", "large margin"))
    k = next(k for k, t in enumerate(new) if learnt[k] == t != likely[k] and 8 <= len(t.leaves) <= 9)
    _, axes = plt.subplots(nrows=2, figsize=(9.0, 8.4), layout="constrained")
    for ax, tree, title in zip(
        axes, (learnt[k], likely[k]), ("large margin, right", "maximum likelihood"), strict=True
    ):
        right, tree = (worded(one, iter(testing[k].words)) for one in (new[k], tree))
        TreeDisplay.from_tree(tree, right, ax=ax, fontsize=9)
        ax.set_title(title)
    plt.show()

# %%
# The features see rules alone: neither words nor what stands around a constituent. Both ways are far from parsers with
# such features; what can be seen here is what weights learnt for the purpose are worth beside frequencies.
#
# .. rubric:: References
#
# .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011.
# .. [2] N. Silveira et al., A gold standard dependency corpus for English, LREC 2014. The treebank is under the licence
#    CC BY-SA 4.0.
