"""Machines on vectors as ONNX models, for programs without Python.

ONNX has operators of its own for support vector machines, but these work in float32 only, and know few kernels. Here
everything is made of plain ones: kernels, functions over them, schemes of several classes, probabilities.
"""

from mercer.compat.onnx.export import to_onnx

__all__ = ["to_onnx"]
