"""Several classes from machines for two: schemes that any binary machine can use."""

from mercer.multiclass.base import Plan, Scheme, Sides, Task, as_scheme
from mercer.multiclass.pairs import OneVersusOne

__all__ = ["OneVersusOne", "Plan", "Scheme", "Sides", "Task", "as_scheme"]
