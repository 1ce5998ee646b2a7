"""Probabilities from decision values: calibrated machines, the maps behind them, and measures of reliability."""

from mercer.calibration.calibrated import Calibrated
from mercer.calibration.calibration import Calibration
from mercer.calibration.coupling import couple
from mercer.calibration.maps import Isotonic, Sigmoid, fit_isotonic, fit_sigmoid, fit_temperature
from mercer.calibration.reliability import Reliability, calibration_error, reliability

__all__ = [
    "Calibrated",
    "Calibration",
    "Isotonic",
    "Reliability",
    "Sigmoid",
    "calibration_error",
    "couple",
    "fit_isotonic",
    "fit_sigmoid",
    "fit_temperature",
    "reliability",
]
