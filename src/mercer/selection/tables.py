"""Tables made ready for kernels: numbers scaled and completed, categories in zeros and ones, texts as they are."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import KNNImputer
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from mercer.data.tables import KINDS, column_kinds
from mercer.errors import DomainError
from mercer.kernels.samples import describe
from mercer.kernels.tables import Table
from mercer.parameters import Choice, Number, check_parameters

__all__ = ["TablePreparation", "as_category"]

SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler}


class TablePreparation(TransformerMixin, BaseEstimator):
    """Makes the columns of a table ready for kernels, each by its kind.

    Numbers are scaled, and missing ones are taken from the nearest neighbours in the other numbers [1]_; a category
    becomes a feature of zeros and ones [2]_, and a missing one counts as a category of its own; texts stay what they
    are, for kernels on strings. Identifiers are left out.

    Parameters
    ----------
    kinds : mapping from names to kinds or None, default=None
        "numeric", "categorical", "text" or "identifier" for columns whose kind need not be found out, see
        `mercer.data.column_kinds`.
    target : str or None, default=None
        A column that is no feature, and that need not be there when samples are prepared for a prediction.
    scale : {"standard", "minmax"} or None, default="standard"
        Numbers of mean 0 and variance 1, numbers in [0, 1], or as they are.
    n_neighbors : int >= 1, default=5
        How many samples a missing number is the mean of.
    output : {"auto", "vectors", "table"}, default="auto"
        "vectors": one array, for kernels on vectors; refused if there are texts. "table": a dict with an entry for
        every column, for `mercer.kernels.On`. "auto": vectors where there are no texts, the texts alone where there is
        one column of them and nothing else, a table otherwise.

    Attributes
    ----------
    kinds_ : dict
        The kind of every column but the target.
    numeric_, categorical_, text_ : list of str
        Names of the columns of each kind, in their order.
    categories_ : dict of lists of str
        The categories of each categorical column; "" is what is missing.
    n_missing_ : dict
        How many values are missing, of the columns where some are.
    output_ : {"vectors", "text", "table"}
        What `transform` gives.
    scaler_, imputer_, encoder_ : transformers of scikit-learn or None
        What does it; None where there is nothing to do.

    See Also
    --------
    mercer.data.read_table : Tables from files.
    mercer.kernels.On : A kernel on columns of a table.
    mercer.selection.MissingRateFilter : Leaves out features of which too much is missing.

    Notes
    -----
    Neighbours take O(n m d) for m samples with missing numbers. A category that was not seen in `fit` becomes zeros.

    References
    ----------
    .. [1] C. Campbell, Y. Ying, Learning with Support Vector Machines, 2011, section 1.6.
    .. [2] C. C. Aggarwal, Data Mining: The Textbook, 2015, section 10.6.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.selection import TablePreparation
    >>> people = {"age": [30.0, np.nan, 50.0, 40.0], "smoker": ["no", "yes", "no", "yes"]}
    >>> TablePreparation(n_neighbors=3).fit_transform(people).round(2)
    array([[-1.22,  1.  ,  0.  ],
           [ 0.  ,  0.  ,  1.  ],
           [ 1.22,  1.  ,  0.  ],
           [ 0.  ,  0.  ,  1.  ]])
    """

    _parameters: ClassVar[dict[str, Any]] = {
        "scale": Choice(*SCALERS, None),
        "n_neighbors": Number(1, integer=True),
        "output": Choice("auto", "vectors", "table"),
    }

    def __init__(self, kinds=None, *, target=None, scale="standard", n_neighbors=5, output="auto"):
        self.kinds = kinds
        self.target = target
        self.scale = scale
        self.n_neighbors = n_neighbors
        self.output = output

    def fit(self, X, y=None):
        """Find out kinds, scales and categories.

        Parameters
        ----------
        X : data frame or dict of columns
        y : ignored

        Returns
        -------
        self
        """
        check_parameters(self)
        known = {} if self.kinds is None else dict(self.kinds)
        for name, kind in known.items():
            if kind not in KINDS:
                raise ValueError(f"kinds must be one of {', '.join(KINDS)}, got {kind!r} for {name!r}.")
        table = Table(X, "X")
        features = {str(name): table.column(name) for name in table.names if name != self.target}
        self.kinds_ = column_kinds(features, known)
        for kind in ("numeric", "categorical", "text"):
            setattr(self, f"{kind}_", [name for name, own in self.kinds_.items() if own == kind])
        if not (self.numeric_ or self.categorical_ or self.text_):
            raise ValueError(f"There is no column to learn from in {describe(X)}.")
        self.output_ = self._chosen_output()
        numbers, categories = self._numbers(table), self._categories(table)
        self.scaler_ = self.imputer_ = self.encoder_ = None
        if self.numeric_:
            if self.scale is not None:
                self.scaler_ = SCALERS[self.scale]().fit(numbers)
                numbers = self.scaler_.transform(numbers)
            self.imputer_ = KNNImputer(n_neighbors=self.n_neighbors, keep_empty_features=True).fit(numbers)
        if self.categorical_:
            self.encoder_ = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(categories)
        found = zip(self.categorical_, self.encoder_.categories_ if self.encoder_ else (), strict=True)
        self.categories_ = {name: own.tolist() for name, own in found}
        missing = dict(zip(self.numeric_, np.isnan(numbers).sum(axis=0).tolist(), strict=True))
        missing |= dict(zip(self.categorical_, (categories == "").sum(axis=0).tolist(), strict=True))
        self.n_missing_ = {name: missing[name] for name in self.kinds_ if missing.get(name)}
        return self

    def _chosen_output(self) -> str:
        vectors = bool(self.numeric_ or self.categorical_)
        if self.output == "vectors" and self.text_:
            raise DomainError(
                f"Texts are no vectors: output must be 'table' or 'auto' for the column {self.text_[0]!r}."
            )
        if self.output != "auto":
            return self.output
        return "vectors" if not self.text_ else "table" if vectors or len(self.text_) > 1 else "text"

    def transform(self, X):
        """Samples that are ready for kernels.

        Parameters
        ----------
        X : data frame or dict of columns
            With the columns seen in `fit`, in any order; others are not looked at.

        Returns
        -------
        ndarray of shape (n, n_features), list of str or dict of columns
        """
        check_is_fitted(self)
        table = Table(X, "X")
        numbers, categories = self._numbers(table), self._categories(table)
        if self.scaler_ is not None:
            numbers = self.scaler_.transform(numbers)
        if self.imputer_ is not None:
            numbers = self.imputer_.transform(numbers)
        binary = np.empty((len(categories), 0)) if self.encoder_ is None else self.encoder_.transform(categories)
        if self.output_ == "vectors":
            return (
                np.hstack([numbers, binary])
                if self.categorical_ and self.numeric_
                else numbers
                if self.numeric_
                else binary
            )
        texts = {name: self._text(table, name) for name in self.text_}
        if self.output_ == "text":
            return texts[self.text_[0]]
        columns: dict[str, Any] = dict(zip(self.numeric_, numbers.T.copy(), strict=True))
        ends = np.cumsum([len(self.categories_[name]) for name in self.categorical_])[:-1]
        columns |= zip(self.categorical_, np.split(binary, ends, axis=1), strict=True) if self.categorical_ else {}
        columns |= texts
        return {name: columns[name] for name in self.kinds_ if name in columns}

    # --- columns ------------------------------------------------------------------------------------------

    def _numbers(self, table: Table) -> np.ndarray:
        """The numeric columns, shape (n, n_numeric)."""
        columns = []
        for name in self.numeric_:
            try:
                columns.append(np.asarray(table.column(name), dtype=np.float64))
            except (TypeError, ValueError) as error:
                raise DomainError(f"The column {name!r} must be numbers: {error}.") from None
            if np.isinf(columns[-1]).any():
                raise ValueError(f"The column {name!r} contains infinity.")
        return np.column_stack(columns) if columns else np.empty((self._n_rows(table), 0))

    def _categories(self, table: Table) -> np.ndarray:
        """The categorical columns as strings, "" for what is missing, shape (n, n_categorical)."""
        columns = [np.array([as_category(value) for value in _listed(table, name)]) for name in self.categorical_]
        return np.column_stack(columns) if columns else np.empty((self._n_rows(table), 0), dtype="<U1")

    def _text(self, table: Table, name: str) -> list[str]:
        texts = _listed(table, name)
        for row, text in enumerate(texts):
            if not isinstance(text, str):
                raise ValueError(f"The column {name!r} must be texts, got {text!r} in row {row + 1}.")
        return texts

    @staticmethod
    def _n_rows(table: Table) -> int:
        return len(_listed(table, table.names[0]))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _listed(table: Table, name: str) -> list[Any]:
    column = table.column(name)
    return column.to_list() if hasattr(column, "to_list") else np.asarray(column, dtype=object).tolist()


def as_category(value: Any) -> str:
    """A category as a string: 1, 1.0 and "1" are one, and so are all ways to be missing."""
    if value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    return (
        repr(value).removesuffix(".0") if isinstance(value, int | float) and not isinstance(value, bool) else str(value)
    )
