"""Several classes from machines for two: schemes that any binary machine can use."""

from mercer.multiclass.base import Model, OwnMachines, Plan, Scheme, Task, as_scheme
from mercer.multiclass.codes import ErrorCorrectingCode
from mercer.multiclass.one_class import OneClassPerClass
from mercer.multiclass.pairs import DAG, OneVersusOne
from mercer.multiclass.rest import OneVersusRest

__all__ = [
    "DAG",
    "ErrorCorrectingCode",
    "Model",
    "OneClassPerClass",
    "OneVersusOne",
    "OneVersusRest",
    "OwnMachines",
    "Plan",
    "Scheme",
    "Task",
    "as_scheme",
]
