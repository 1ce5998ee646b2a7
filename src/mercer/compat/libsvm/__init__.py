"""LIBSVM's model files, read and written."""

from mercer.compat.libsvm.machines import as_machine, as_model
from mercer.compat.libsvm.model import Model
from mercer.compat.libsvm.reading import parse_model, read_model
from mercer.compat.libsvm.writing import format_model, write_model

__all__ = ["Model", "as_machine", "as_model", "format_model", "parse_model", "read_model", "write_model"]
