"""Kernels on sets as their definitions say."""


def set_kernel(base, A, B, reduce="mean"):
    """The kernel `base(a, b)` of single elements, over all pairs."""
    total = sum(base(a, b) for a in A for b in B)
    return total / (len(A) * len(B)) if reduce == "mean" else total


def jaccard(A, B):
    return len(set(A) & set(B)) / len(set(A) | set(B)) if set(A) | set(B) else 1.0
