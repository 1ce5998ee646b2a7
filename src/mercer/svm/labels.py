"""The scheme for several classes."""

from typing import Any

from mercer.machines import Labelled
from mercer.multiclass import Scheme, as_scheme

__all__ = ["Schemed"]


class Schemed(Labelled):
    """What classifiers share that learn several classes by a scheme of machines."""

    multi_class: Any

    @property
    def _scheme(self) -> Scheme:
        return as_scheme(self.multi_class)

    def set_params(self, **params):
        """Set parameters, those of the scheme as ``multi_class__name``, those of the kernel as ``kernel__name``.

        A scheme or a kernel given by its name becomes an object first.
        """
        scheme = params.get("multi_class", self.multi_class)
        if isinstance(scheme, str) and any(name.startswith("multi_class__") for name in params):
            params = {**params, "multi_class": as_scheme(scheme)}
        return super().set_params(**params)

    def _check_all(self) -> None:
        super()._check_all()
        self._scheme.check()
