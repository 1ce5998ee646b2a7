"""Models in files: one file each, without pickle.

A file is in the safetensors format: arrays are tensors, and everything else is one JSON document beside them, with
the version of the format and of the libraries, the kernel and the certificate of the training. Loading builds objects
of classes that this library knows and runs nothing that stands in the file.

>>> import tempfile, os, mercer
>>> from mercer import SVC
>>> machine = SVC(C=2.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
>>> with tempfile.TemporaryDirectory() as folder:
...     path = mercer.save(machine, os.path.join(folder, "machine.mercer"))
...     print(mercer.load(path).predict([[0.5], [2.5]]))
...     print(mercer.persist.describe(path)["class"])
[0 1]
mercer.svm.SVC
"""

from mercer.persist.classes import register
from mercer.persist.models import describe, load, save

__all__ = ["describe", "load", "register", "save"]
