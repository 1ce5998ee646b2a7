"""The command ``mercer``: files in, models, predictions and short tables out.

What it does is done by the rooms of the library, `mercer.data`, `mercer.selection`, `mercer.svm`, `mercer.persist` and
so on; here options become parameters, and results become tables or JSON. It needs the extra ``cli``.
"""

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command, and exit with its code.

    Parameters
    ----------
    arguments : sequence of str or None, default=None
        None: those of the process.

    Notes
    -----
    Codes: 0 all is well; 1 something failed; 2 the command was not understood; 3 a data file is wrong; 4 a model
    file is wrong, or does not fit the data; 5 a solver stopped before it had reached an optimum; 130 interrupted.
    """
    from mercer.extras import require

    try:
        for package in ("click", "rich"):
            require(package, "The command mercer")
        from mercer.cli.app import run

        code = run(arguments)
    except ImportError as error:
        print(error, file=sys.stderr)
        code = 1
    except KeyboardInterrupt:  # while all this was imported
        print("mercer: Interrupted; nothing has been written.", file=sys.stderr)
        code = 130
    sys.exit(code)
