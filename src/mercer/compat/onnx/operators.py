"""What ONNX models are made of: nodes and constants."""

from copy import copy
from typing import Any

import numpy as np

__all__ = ["Operators"]


class Operators:
    """The nodes and constants of a graph; a method call adds a node and gives the name of its output."""

    def __init__(self, onnx: Any, dtype: np.dtype):
        self.onnx, self.dtype = onnx, dtype
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def kind(self, dtype: Any) -> int:
        """ONNX's number of a dtype."""
        return self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def constant(self, value: Any, dtype: Any = None) -> str:
        """A constant of the dtype of the model, or another one."""
        array = np.asarray(value, dtype=dtype or self.dtype)
        name = f"constant_{len(self.constants)}"
        if array.dtype.kind in "UO":
            text = [str(label).encode("utf-8") for label in array.ravel()]
            tensor = self.onnx.helper.make_tensor(name, self.onnx.TensorProto.STRING, array.shape, text)
        else:
            tensor = self.onnx.numpy_helper.from_array(np.asarray(array, order="C"), name)
        self.constants.append(tensor)
        return name

    def __call__(self, operator: str, *inputs: Any, **attributes: Any) -> str:
        """Add a node; numbers and arrays among its inputs become constants."""
        names = [part if isinstance(part, str) else self.constant(part) for part in inputs]
        output = f"{operator}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [output], **attributes))
        return output

    def sum(self, values: str, axis: int, keep: bool = True) -> str:
        """The sum over an axis."""
        return self("ReduceSum", values, self.constant([axis], np.int64), keepdims=int(keep))

    def new_axis(self, values: str, axis: int) -> str:
        """The values with one more axis, of length 1."""
        return self("Unsqueeze", values, self.constant([axis], np.int64))

    def log_sigmoid(self, values: str) -> str:
        """log(1 / (1 + exp(-values))), also where this is far below the smallest number."""
        rest = self("Log", self("Add", self("Exp", self("Neg", self("Abs", values))), 1.0))
        return self("Sub", self("Min", values, 0.0), rest)

    def in_float64(self) -> "Operators":
        """The same graph, whose further constants are in float64."""
        fine = copy(self)
        fine.dtype = np.dtype(np.float64)
        return fine
