"""Kernel values, and what machines make of them, on a GPU or the CPU by PyTorch: the extra ``gpu``."""

from mercer.devices.arrays import Device, Place
from mercer.devices.grams import DeviceGram
from mercer.devices.landmarks import DeviceLandmarkGram, DeviceLandmarkMatrix
from mercer.devices.values import DeviceKernel

__all__ = ["Device", "DeviceGram", "DeviceKernel", "DeviceLandmarkGram", "DeviceLandmarkMatrix", "Place"]
