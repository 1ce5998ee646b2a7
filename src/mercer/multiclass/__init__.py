"""Several classes: from machines for two, by schemes that any binary machine can use, or from one objective for all."""

from mercer.multiclass.base import JointScheme, Model, OwnMachines, Plan, Scheme, Task, Tasks, as_scheme
from mercer.multiclass.codes import ErrorCorrectingCode
from mercer.multiclass.joint import CrammerSinger, LeeLinWahba, WestonWatkins
from mercer.multiclass.one_class import OneClassPerClass
from mercer.multiclass.pairs import DAG, OneVersusOne
from mercer.multiclass.rest import OneVersusRest

__all__ = [
    "DAG",
    "CrammerSinger",
    "ErrorCorrectingCode",
    "JointScheme",
    "LeeLinWahba",
    "Model",
    "OneClassPerClass",
    "OneVersusOne",
    "OneVersusRest",
    "OwnMachines",
    "Plan",
    "Scheme",
    "Task",
    "Tasks",
    "WestonWatkins",
    "as_scheme",
]
