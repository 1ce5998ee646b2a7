"""Features: explicit ones of a kernel."""

from mercer.features.explicit import ExplicitFeatures

__all__ = ["ExplicitFeatures"]
