"""svm-train, svm-predict and svm-scale as commands, with their own flags."""

import click
from click.shell_completion import CompletionItem

__all__ = ["libsvm"]

SETTINGS = {"ignore_unknown_options": True, "allow_interspersed_args": False, "help_option_names": ["--help"]}


def files(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """What completes a word in a shell: these commands end in names of files."""
    return [CompletionItem(incomplete, type="file")]


Everything = click.argument("arguments", nargs=-1, type=click.UNPROCESSED, shell_complete=files)


@click.group(short_help="svm-train, svm-predict and svm-scale.")
def libsvm() -> None:
    """svm-train, svm-predict and svm-scale: LIBSVM's flags, files and output.

    \b
    Examples:
      mercer libsvm train -c 10 -g 0.1 heart_scale heart.model
      mercer libsvm predict heart_scale heart.model predictions
      mercer libsvm scale -l -1 -u 1 -s range train.txt > train.scale
    """


@libsvm.command(context_settings=SETTINGS, short_help="Train as svm-train does.")
@Everything
def train(arguments: tuple[str, ...]) -> int:
    """Train as svm-train does: [options] training_set_file [model_file]

    \b
    -s type     0 C-SVC (default), 1 nu-SVC, 2 one-class, 3 epsilon-SVR, 4 nu-SVR
    -t kernel   0 linear, 1 polynomial, 2 radial basis function (default), 3 sigmoid, 4 precomputed
    -d degree   of polynomial kernels (default 3)
    -g gamma    (default 1 / number of features)
    -r coef0    (default 0)
    -c cost     of C-SVC and the SVRs (default 1)
    -n nu       of nu-SVC, one-class and nu-SVR (default 0.5)
    -p epsilon  of epsilon-SVR (default 0.1)
    -m size     megabytes for kernel values (default 100)
    -e epsilon  tolerance of the optimality conditions (default 0.001)
    -h 0|1      shrinking: accepted, the solver decides by itself
    -b 0|1      train for probability estimates (default 0)
    -wi weight  factor of the cost of class i, for C-SVC (default 1)
    -v n        n-fold cross-validation, in place of a model
    -q          no output

    \b
    Examples:
      mercer libsvm train heart_scale
      mercer libsvm train -s 0 -c 10 -t 1 -g 1 -r 1 -d 3 train.txt
      mercer libsvm train -c 1000 -v 5 -w1 2 -w-1 0.5 train.txt
    """
    from mercer.cli.like_libsvm import train_as_libsvm

    return train_as_libsvm(arguments)


@libsvm.command(context_settings=SETTINGS, short_help="Predict as svm-predict does.")
@Everything
def predict(arguments: tuple[str, ...]) -> int:
    """Predict as svm-predict does: [options] test_file model_file output_file

    \b
    -b 0|1  probability estimates (default 0)
    -q      no output

    \b
    Examples:
      mercer libsvm predict test.txt train.model predictions
      mercer libsvm predict -b 1 test.txt train.model probabilities
    """
    from mercer.cli.like_libsvm import predict_as_libsvm

    return predict_as_libsvm(arguments)


@libsvm.command(context_settings=SETTINGS, short_help="Scale as svm-scale does.")
@Everything
def scale(arguments: tuple[str, ...]) -> int:
    """Scale as svm-scale does: [options] data_file, to standard output

    \b
    -l lower  of the range of features (default -1)
    -u upper  of the range of features (default 1)
    -y lower upper  scale the targets, too
    -s file   save the ranges
    -r file   take the ranges from a file

    \b
    Examples:
      mercer libsvm scale -l 0 -u 1 -s range train.txt > train.scale
      mercer libsvm scale -r range test.txt > test.scale
    """
    from mercer.cli.like_libsvm import scale_as_libsvm

    return scale_as_libsvm(arguments)
