"""The commands: their options, their help, their exit codes."""

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import click

import mercer
from mercer.cli.libsvm import libsvm
from mercer.cli.outcomes import DATA, FAILED, GOOD, INTERRUPTED, MODEL, USAGE, CommandError, check_folder, interrupted
from mercer.cli.wishes import FORMATS, Reading, Wish
from mercer.errors import FormatError, ModelFileError

__all__ = ["mercer_command", "run"]

INTERRUPTION = "Interrupted; nothing has been written."
CODES = """\b
Exit codes:
  0    all is well
  1    something failed, and is named
  2    the command was not understood
  3    a data file is wrong: its line is named
  4    a model file is wrong, or does not fit the data
  5    the solver stopped before it had reached an optimum
  130  interrupted (Ctrl-C); nothing is half-written"""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code. Whatever goes wrong becomes one line on standard error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", UserWarning)
            warnings.showwarning = _show_warning
            code = mercer_command.main(
                None if arguments is None else list(arguments), prog_name="mercer", standalone_mode=False
            )
        sys.stdout.flush()
        return code if isinstance(code, int) else GOOD
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return USAGE
    except click.ClickException as error:
        error.show()
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        return _failed(INTERRUPTION, INTERRUPTED)
    except CommandError as error:
        return _failed(str(error), error.code)
    except FormatError as error:
        return _failed(str(error), DATA)
    except ModelFileError as error:
        return _failed(str(error), MODEL)
    except BrokenPipeError:  # whoever read has gone: not our failure, and Python must not complain at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return GOOD
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        return _failed(f"{place}{error.strerror or error}", FAILED)
    except MemoryError:
        return _failed("There is not enough memory for this.", FAILED)
    except Exception as error:
        if interrupted(error):
            return _failed(INTERRUPTION, INTERRUPTED)
        if os.environ.get("MERCER_TRACEBACK"):
            raise
        name = "" if isinstance(error, ValueError | ImportError) else f"{type(error).__name__}: "
        return _failed(f"{name}{' '.join(str(error).split())}", FAILED)


def _failed(message: str, code: int) -> int:
    print(f"mercer: {message}", file=sys.stderr)
    return code


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print(f"mercer: warning: {' '.join(str(message).split())}", file=sys.stderr)


# --- options that several commands have -------------------------------------------------------------------

File = click.Path(exists=True, allow_dash=True)
Option = Callable[[Any], Any]


def options(*some: Option) -> Option:
    """Several options as one decorator, in the order in which the help shows them."""

    def decorate(function: Any) -> Any:
        for option in reversed(some):
            function = option(function)
        return function

    return decorate


def completed(names: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    """What completes a word in a shell; the names are imported only then."""

    def complete(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        return [name for name in names() if name.startswith(incomplete)]

    return complete


def _cases() -> Iterable[str]:
    from mercer.cli.demonstrating import CASES

    return CASES


def _kernels() -> Iterable[str]:
    from mercer.cli.expressions import KNOWN

    return KNOWN


def _machines() -> Iterable[str]:
    from mercer.cli.recipes import machines

    return machines()


reading_options = options(
    click.option(
        "--format", "format_", type=click.Choice(FORMATS), help="The format, where the file's name does not tell."
    ),
    click.option("--delimiter", help="What stands between the fields of a table. [default: found]"),
    click.option("--header/--no-header", default=None, help="Whether the first line has names. [default: found]"),
    click.option("--decimal", type=click.Choice([".", ","]), help="What stands before decimals. [default: .]"),
    click.option("--labels", type=File, help="The labels of the sequences of a FASTA file: a name and a label a line."),
    click.option("--numeric", multiple=True, metavar="COLUMN", help="This column holds numbers."),
    click.option("--categorical", multiple=True, metavar="COLUMN", help="This column holds categories."),
    click.option("--text", multiple=True, metavar="COLUMN", help="This column holds texts or sequences."),
    click.option("--ignore", multiple=True, metavar="COLUMN", help="This column is left out."),
    click.option(
        "--missing",
        multiple=True,
        metavar="TEXT",
        help="What stands for a missing value. [default: empty, ?, NA, NaN, null]",
    ),
)
learning_options = options(
    click.option("-t", "--target", metavar="COLUMN", help="The column of a table that is to be learnt."),
    click.option(
        "--task", type=click.Choice(["classification", "regression"]), help="[default: found from the target]"
    ),
    click.option("--novelty", is_flag=True, help="Learn what is usual, without a target."),
    click.option(
        "-k",
        "--kernel",
        metavar="KERNEL",
        shell_complete=completed(_kernels),
        help='As in Python, "RBF(gamma=0.1) + Linear()", or a name. [default: suits the data]',
    ),
    click.option(
        "--machine",
        metavar="NAME",
        shell_complete=completed(_machines),
        help="A machine of mercer. [default: SVC, SVR or OneClassSVM]",
    ),
    click.option("-C", "price", type=float, help="The price of errors."),
    click.option(
        "-p", "--param", "parameters", multiple=True, metavar="NAME=VALUE", help="A parameter of the machine."
    ),
    click.option("--probability", is_flag=True, help="Learn probabilities of classes, too."),
    click.option(
        "--scale",
        type=click.Choice(["auto", "standard", "minmax", "none"]),
        default="auto",
        show_default=True,
        help="How numbers are scaled; auto: standard for tables.",
    ),
    click.option(
        "--test",
        type=click.FloatRange(0, 1, max_open=True),
        default=0.25,
        show_default=True,
        metavar="SHARE",
        help="The share of samples that is held out.",
    ),
    click.option("--test-data", type=File, help="A file to test on, in place of samples held out."),
    click.option("--refit", is_flag=True, help="After the test, learn once more from all samples."),
    click.option("--seed", type=int, default=0, show_default=True, help="Who is held out."),
    click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Stop in time, with what was reached."),
    click.option("-o", "--output", type=click.Path(dir_okay=False), metavar="MODEL", help="Where to save the model."),
)
search_options = options(
    click.option("--grid", multiple=True, metavar="NAME=V1,V2,...", help="Values to try. [default: suit the machine]"),
    click.option("--cv", type=click.IntRange(2), default=5, show_default=True, help="Folds."),
    click.option(
        "--search",
        type=click.Choice(["grid", "adaptive"]),
        default="grid",
        show_default=True,
        help="All cells, or those near the best.",
    ),
    click.option("--scoring", metavar="NAME", help="A score of scikit-learn. [default: accuracy or R²]"),
    click.option("--journal", type=click.Path(dir_okay=False), help="A file that a killed search goes on from."),
)
output_options = options(
    click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output."),
    click.option("-q", "--quiet", is_flag=True, help="Say nothing."),
)


def reading_of(values: dict[str, Any]) -> Reading:
    """Take what concerns the file out of the options of a command."""
    kinds = {name: kind for kind in ("numeric", "categorical", "text") for name in values.pop(kind)}
    kinds |= dict.fromkeys(values.pop("ignore"), "identifier")
    known = {name: values.pop(name) for name in ("delimiter", "header", "decimal", "labels", "missing")}
    delimiter = known.pop("delimiter")
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
        raise CommandError(f"--delimiter must be one character, or 'tab', got {delimiter!r}.", USAGE)
    if delimiter is not None and delimiter == known["decimal"]:
        raise CommandError(f"--decimal and --delimiter are both {delimiter!r}.", USAGE)
    return Reading(format=values.pop("format_"), kinds=kinds, delimiter=delimiter, **known)


def wish_of(data: str, values: dict[str, Any], tune: bool) -> Wish:
    """What the options of `train` and `tune` ask for."""
    reading = reading_of(values)
    parameters = [*values.pop("parameters")]
    if (price := values.pop("price")) is not None:
        parameters.append(f"C={price!r}")
    if values.pop("probability"):
        parameters.append("probability=True")
    json = values.pop("as_json")
    return Wish(data, reading=reading, parameters=tuple(parameters), tune=tune, json=json, **values)


def finish(wish: Wish) -> int:
    """Learn, save, and tell."""
    lesson = learn_and_save(wish)
    lesson.show(wish)
    return lesson.code


def learn_and_save(wish: Wish) -> Any:
    """What was learnt, in its file where one was named."""
    from mercer.cli.learning import learn

    check_folder(wish.output)
    lesson = learn(wish)
    if wish.output is not None:
        mercer.save(lesson.model, wish.output)
    return lesson


# --- commands ---------------------------------------------------------------------------------------------


class Group(click.Group):
    """Commands in the order in which they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(cls=Group, context_settings={"help_option_names": ["--help"], "max_content_width": 100}, epilog=CODES)
@click.version_option(mercer.__version__, prog_name="mercer", message="%(prog)s %(version)s")
def mercer_command() -> None:
    """Kernel machines that prove their own optimum.

    Reads CSV, TSV and Parquet tables, LIBSVM files, FASTA sequences and folders of graphs.

    \b
    Examples:
      mercer train iris.csv --target class -o iris.mercer
      mercer predict iris.mercer new.csv
      mercer demo
    """


@mercer_command.command(short_help="Learn from a file, test, save the model.")
@click.argument("data", type=File)
@learning_options
@click.option("--tune", is_flag=True, help="Choose C and the kernel's parameters by cross-validation.")
@click.option("--checkpoint", type=click.Path(dir_okay=False), help="A file that a killed fit goes on from.")
@reading_options
@output_options
def train(data: str, tune: bool, **values: Any) -> int:
    """Learn from a file, test on samples held out, save the model.

    Columns of a table are numeric, categorical or text; missing numbers are taken from the nearest rows, categories
    become zeros and ones, numbers are scaled. All of that is part of the model.

    \b
    Examples:
      mercer train iris.csv --target class -o iris.mercer
      mercer train heart.csv --target class --tune --probability
      mercer train houses.parquet --target price --test 0.1 --json
      mercer train promoters.csv -t class --kernel "WeightedDegree(8).normalized()"
      mercer train people.csv -t ill -k "On(['age', 'bmi'], RBF()) + On('history', Spectrum(4))"
      mercer train a9a.svm.gz --test-data a9a_test.svm.gz -C 10
      mercer train proteins.fasta --labels proteins.txt
      mercer train graphs/MUTAG --tune
      mercer train sensors.csv --novelty -p nu=0.05
      mercer train big.parquet -t y -p approximation=2000 --checkpoint big.checkpoint -o big.mercer
    """
    return finish(wish_of(data, values, tune))


@mercer_command.command(short_help="Search for parameters by cross-validation.")
@click.argument("data", type=File)
@learning_options
@search_options
@click.option("--top", type=click.IntRange(0), default=5, show_default=True, help="How many cells to show.")
@reading_options
@output_options
def tune(data: str, top: int, **values: Any) -> int:
    """Search for parameters by cross-validation, and learn with the best.

    \b
    Examples:
      mercer tune iris.csv --target class
      mercer tune iris.csv -t class --grid C=1,10,100 --grid kernel__gamma=0.01,0.1
      mercer tune big.csv -t y --search adaptive --max-seconds 600 --journal big.journal -o big.mercer
    """
    from mercer.cli import report

    wish = wish_of(data, values, tune=True)
    lesson = learn_and_save(wish)
    cells = best_cells(lesson.search.cv_results_, top)
    lesson.show(wish, cells=cells)
    if cells and not (wish.json or wish.quiet):
        names = list(cells[0]["params"])
        print()
        report.table(
            ["rank", *names, "score", "±"],
            [
                [
                    k,
                    *(report.short(cell["params"][name]) for name in names),
                    f"{cell['score']:.4f}",
                    f"{cell['std']:.4f}",
                ]
                for k, cell in enumerate(cells, 1)
            ],
        )
    return lesson.code


def best_cells(results: dict[str, Any], top: int) -> list[dict[str, Any]]:
    """The cells of a search with the best scores."""
    order = [int(k) for k in results["rank_test_score"].argsort(kind="stable")]
    known = [k for k in order if results["mean_test_score"][k] == results["mean_test_score"][k]][:top]
    return [
        {
            "params": dict(results["params"][k]),
            "score": float(results["mean_test_score"][k]),
            "std": float(results["std_test_score"][k]),
        }
        for k in known
    ]


@mercer_command.command(short_help="Predict for the samples of a file.")
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.argument("data", type=File)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="A CSV file. [default: standard output]")
@click.option("--probability", is_flag=True, help="Probabilities of the classes, too.")
@click.option("--decision", is_flag=True, help="Decision values, too.")
@click.option(
    "-t", "--target", metavar="COLUMN", help="A column with the truth. [default: that of the training, if it is there]"
)
@reading_options
@output_options
def predict(model: str, data: str, **values: Any) -> int:
    """Predict for the samples of a file, and say how wrong that is if the file knows.

    MODEL is what `mercer train` has saved, or a LIBSVM model. Columns are found by their names. Predictions go to
    standard output as CSV, the error to standard error.

    \b
    Examples:
      mercer predict iris.mercer new.csv > predictions.csv
      mercer predict iris.mercer new.csv --probability -o predictions.csv
      zcat new.csv.gz | mercer predict iris.mercer -
      mercer predict libsvm.model test.svm
    """
    from mercer.cli.predicting import predict_file

    return predict_file(model, data, reading_of(values), **values)


@mercer_command.command(short_help="Show what a model file holds.")
@click.argument("model", type=click.Path(exists=True, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def inspect(model: str, as_json: bool) -> int:
    """Show what a model file holds: machine, kernel, columns, certificate.

    \b
    Examples:
      mercer inspect iris.mercer
      mercer inspect libsvm.model --json
    """
    from mercer.cli.inspecting import inspect_file

    inspect_file(model, as_json)
    return GOOD


@mercer_command.command(short_help="Learn one of the data sets of the package.")
@click.argument("case", required=False, shell_complete=completed(_cases))
@click.option("--copy", is_flag=True, help="Leave the data in CASE.csv, to go on with.")
@output_options
def demo(case: str | None, copy: bool, as_json: bool, quiet: bool) -> int:
    """Learn one of the data sets that come with the package.

    \b
    Examples:
      mercer demo
      mercer demo promoters
      mercer demo ionosphere --copy
    """
    from mercer.cli.demonstrating import show_case

    return show_case(case, copy, as_json, quiet)


@mercer_command.command(short_help="Convert data files, and LIBSVM's models.")
@click.argument("source", type=File)
@click.argument("destination", type=click.Path(dir_okay=False))
@click.option("-t", "--target", metavar="COLUMN", help="The target, for LIBSVM files. [default: the last column]")
@reading_options
def convert(source: str, destination: str, target: str | None, **values: Any) -> int:
    """Convert between data formats, or between LIBSVM's model files and ours.

    What SOURCE is, is seen from its content; what DESTINATION is to be, from its ending: .csv, .tsv, .parquet, .svm or
    .fasta for data, .mercer for a model of ours, .model for one of LIBSVM.

    \b
    Examples:
      mercer convert iris.csv iris.svm --target class
      mercer convert a9a.svm.gz a9a.parquet
      mercer convert heart.model heart.mercer
      mercer convert heart.mercer heart.model
    """
    from mercer.cli.converting import convert_file

    return convert_file(source, destination, target, reading_of(values))


@mercer_command.command(short_help="Compare speed with scikit-learn.")
@click.argument("data", type=File, required=False)
@click.option("-t", "--target", metavar="COLUMN", help="The column of a table that is to be learnt.")
@click.option("-C", "price", type=float, default=1.0, show_default=True, help="The price of errors.")
@click.option("-n", "sizes", type=click.IntRange(10), multiple=True, help="Numbers of samples. [default: 1000, 3000]")
@click.option(
    "--repeats", type=click.IntRange(1), default=3, show_default=True, help="The median of so many runs counts."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Which samples.")
@reading_options
@output_options
def bench(data: str | None, **values: Any) -> int:
    """Compare speed with scikit-learn, on your machine and your file.

    The same machine with the same parameters is fitted and asked by both. Without a file, samples are made up.

    \b
    Examples:
      mercer bench
      mercer bench a9a.svm.gz -n 5000 -C 10
    """
    from mercer.cli.benching import compare

    return compare(data, reading_of(values), **values)


@mercer_command.command(short_help="List the kernels, or show one.")
@click.argument("name", required=False, shell_complete=completed(_kernels))
def kernels(name: str | None) -> int:
    """List the kernels that --kernel knows, or show one.

    \b
    Examples:
      mercer kernels
      mercer kernels Spectrum
    """
    from mercer.cli.inspecting import show_kernels

    show_kernels(name)
    return GOOD


@mercer_command.command(short_help="Print the script that completes in a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """Print the script that completes commands, options and files in a shell.

    \b
    Examples:
      mercer completion bash > ~/.local/share/bash-completion/completions/mercer
      mercer completion zsh > ~/.zfunc/_mercer
      mercer completion fish > ~/.config/fish/completions/mercer.fish

    The folders must be there, and zsh must know of its own: fpath+=~/.zfunc before compinit in ~/.zshrc.
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(mercer_command, {}, "mercer", "_MERCER_COMPLETE").source()
    # click's script for fish ends descriptions at their first comma.
    print(script.replace('string split ","', 'string split --max 1 ","') if shell == "fish" else script)
    return GOOD


mercer_command.add_command(libsvm)
