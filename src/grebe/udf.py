"""What a person says of a Python function that computes a column: `@grebe.udf`.

```python
@grebe.udf(returns=grebe.vector(384), version="minilm-6", batch_size=256)
class Embed:
    def setup(self): self.model = load()
    def __call__(self, body: pa.Array) -> pa.Array: ...
```

Nothing here starts or imports Spark.
"""

from __future__ import annotations

import base64
import builtins
import inspect
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from functools import cached_property
from re import compile as compiled
from re import error as PatternError  # noqa: N812  what Python calls it in no version that we run on
from typing import Any, Final, get_args, get_origin

from grebe.errors import DefinitionError, RowViewError
from grebe.function_fingerprint import function_fingerprint

LARGEST: Final = 64 * 1024
"""Bytes of a packed function: it is kept in a property of the view's table."""
_FROM_PYTHON: Final[dict[object, str]] = {
    int: "bigint",
    float: "double",
    str: "string",
    bool: "boolean",
    bytes: "binary",
    date: "date",
    datetime: "timestamp",
}
_WHOLE_COLUMNS: Final = {"Array": "arrow", "ChunkedArray": "arrow", "Series": "pandas"}


class FunctionKind(StrEnum):
    """How a function takes its inputs."""

    SCALAR = "scalar"
    ARROW = "arrow"
    PANDAS = "pandas"
    BATCH = "batch"
    ASYNC = "async"


@dataclass(frozen=True, slots=True)
class FloatVector:
    """A list of so many floats."""

    length: int


def vector(length: Any) -> FloatVector:  # noqa: ANN401  whatever is given is looked at
    """The type of lists of floats of one length, such as embeddings.

    Raises:
        DefinitionError: the length is not a whole number above 0.
    """
    if not isinstance(length, int) or isinstance(length, bool) or length < 1:
        raise RowViewError(
            f"a vector has no length {length!r}", hint="grebe.vector(384)", code="function-type"
        )
    return FloatVector(length)


@dataclass(frozen=True, slots=True)
class OnError:
    """What is done with errors of some kinds whose message matches."""

    action: str
    exceptions: tuple[type[BaseException], ...] = (Exception,)
    match: str = ""
    attempts: int = 1
    delay: float = 0.0
    max_skip_count: int | None = None
    max_skip_fraction: float | None = None


def Retry(  # noqa: N802  read as a word beside Skip and Fail
    *exceptions: type[BaseException], attempts: int = 3, delay: float = 1.0, match: str = ""
) -> OnError:
    """Call again, after a delay that doubles; what then still fails goes to the next rule."""
    _positive("attempts", attempts)
    return OnError("retry", _kinds(exceptions), _pattern(match), attempts, delay)


def Skip(*exceptions: type[BaseException], match: str = "") -> OnError:  # noqa: N802
    """Store NULL, and the error beside it."""
    return OnError("skip", _kinds(exceptions), _pattern(match))


def Fail(*exceptions: type[BaseException], match: str = "") -> OnError:  # noqa: N802
    """End the refresh; nothing of it is visible, and what was computed is kept for the next."""
    return OnError("fail", _kinds(exceptions), _pattern(match))


TRANSIENT: Final = (ConnectionError, TimeoutError)


def retry_transient(attempts: int = 3, delay: float = 1.0) -> OnError:
    """Call again when a connection or a time limit was the trouble."""
    return Retry(*TRANSIENT, attempts=attempts, delay=delay)


def retry_all(attempts: int = 3, delay: float = 1.0) -> OnError:
    """Call again whatever the trouble was."""
    return Retry(attempts=attempts, delay=delay)


def skip_on_error(
    max_skip_count: int | None = None, max_skip_fraction: float | None = None
) -> OnError:
    """Store NULL for rows that fail, but not for more than so many."""
    if max_skip_count is not None:
        _positive("max_skip_count", max_skip_count, least=0)
    if max_skip_fraction is not None and not 0 <= max_skip_fraction <= 1:
        raise _wrong(f"max_skip_fraction must be from 0 to 1, not {max_skip_fraction}")
    rule = Skip()
    return replace(rule, max_skip_count=max_skip_count, max_skip_fraction=max_skip_fraction)


def fail_fast() -> OnError:
    """End the refresh at the first error; so it is where nothing is said."""
    return Fail()


@dataclass(frozen=True)
class RowFunction:
    """A function with what was said of it; it can still be called as it is."""

    made: Any
    """The function, or the class whose objects are called."""
    name: str
    kind: FunctionKind
    parameters: tuple[str, ...]
    annotations: tuple[str, ...]
    """What each parameter is to be given as, where that matters."""
    returns: str
    length: int | None = None
    version: str | None = None
    deterministic: bool = True
    input_columns: tuple[str, ...] | None = None
    batch_sizes: tuple[int, int] = (64, 1024)
    checkpoint_size: int = 1000
    rules: tuple[OnError, ...] = ()
    timeout: float | None = None
    in_flight: int = 64
    rate: float = 0.0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """What the function itself gives, for tests of it."""
        return self.made(*args, **kwargs)

    @property
    def is_class(self) -> bool:
        """Whether objects of it are called, each set up once."""
        return isinstance(self.made, type)

    @cached_property
    def fingerprint(self) -> str:
        """What its results depend on: another one means that they are computed anew.

        Raises:
            DefinitionError: it cannot be told from the function's text.
        """
        said = (self.name, self.returns, str(self.length), str(self.deterministic))
        if self.version is None:
            return function_fingerprint(self.made, self.name, said)
        from hashlib import sha256

        return sha256("\x1f".join([*said, "version", self.version]).encode()).hexdigest()

    def packed(self) -> str:
        """The function as text, which needs no module of its author's where it is run.

        Raises:
            DefinitionError: it cannot be packed, or is too large.
        """
        from pyspark import cloudpickle

        module = _own_module(self.made)
        rules = [
            (item.action, item.exceptions, item.match, item.attempts, item.delay)
            for item in self.rules
        ]
        try:
            if module is not None:
                cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
            try:
                bare = {"made": self.made, "rules": rules}
                found = zlib.compress(cloudpickle.dumps(bare), 9)  # type: ignore[no-untyped-call]
            finally:
                if module is not None:
                    cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]
        except Exception as error:
            raise RowViewError(
                f'function "{self.name}" cannot be packed',
                detail=f"{type(error).__name__}: {error}",
                hint="make in `setup` of a class what cannot travel: connections, locks, models",
                code="function-not-packed",
            ) from error
        text = base64.b64encode(found).decode()
        if len(text) > LARGEST:
            raise RowViewError(
                f'function "{self.name}" is too large',
                detail=f"{len(text):,} bytes packed, at most {LARGEST:,}",
                hint="load data in `setup` of a class instead of holding it",
                code="function-too-large",
            )
        return text

    def to_dict(self) -> dict[str, Any]:
        """All that a refresh needs of it, as plain values."""
        return {
            "name": self.name,
            "kind": str(self.kind),
            "parameters": list(self.annotations),
            "returns": self.returns,
            "length": self.length,
            "deterministic": self.deterministic,
            "fingerprint": self.fingerprint,
            "is_class": self.is_class,
            "batch": list(self.batch_sizes),
            "checkpoint": self.checkpoint_size,
            "timeout": self.timeout,
            "in_flight": self.in_flight,
            "rate": self.rate,
            "skips": _least(item.max_skip_count for item in self.rules),
            "skip_fraction": _least(item.max_skip_fraction for item in self.rules),
            "python": "{}.{}".format(*sys.version_info[:2]),
            "packed": self.packed(),
        }


def udf(  # noqa: PLR0913  every option of a function, by name
    function: Callable[..., Any] | type | None = None,
    *,
    returns: object = None,
    name: str | None = None,
    version: str | None = None,
    deterministic: bool = True,
    input_columns: Sequence[str] | None = None,
    batch_size: int | None = None,
    min_batch_size: int | None = None,
    max_batch_size: int | None = None,
    checkpoint_size: int = 1000,
    on_error: OnError | Sequence[OnError] = (),
    timeout: float | None = None,
    in_flight: int = 64,
    rate: float | None = None,
) -> Any:  # noqa: ANN401  a decorator with or without arguments
    """Decorates a function, or a class whose objects are called, so that it can compute a column.

    Args:
        function: what is decorated.
        returns: the type of its values: a Spark type as text, a Python type, or `grebe.vector(n)`; else
            what its annotation says.
        name: what it is known by; else its own name.
        version: said by whoever knows when its results are the same; else its text decides.
        deterministic: False where equal inputs may give different values: then none is shared.
        input_columns: the columns that its parameters mean, in order; else those of their names.
        batch_size: how many rows a batch has, where that is fixed.
        min_batch_size: the least that a batch is made smaller to, when it takes long.
        max_batch_size: the most that it grows to.
        checkpoint_size: how many results are written down at a time.
        on_error: what is done with errors; the first rule that fits holds, and without one they end
            the refresh.
        timeout: the seconds that a call may take.
        in_flight: how many calls of an `async` function wait at once.
        rate: the most calls in a second, over all tasks.

    Raises:
        DefinitionError: one of these means nothing.
    """

    def decorate(made: Any) -> RowFunction:  # noqa: ANN401
        shown: str = name or getattr(made, "__name__", "") or type(made).__name__
        if not callable(made):
            raise _wrong(f"{shown} is not a function")
        signature = _signature(made, shown)
        kind, parameters, kinds = _taken(made, signature, shown)
        text, length = _returned(returns, signature, kind, shown)
        if kind is FunctionKind.BATCH and input_columns is not None:
            raise _wrong(
                f'function "{shown}" takes a RecordBatch, so input_columns mean nothing',
                hint="leave input_columns out, and give the columns in the select",
            )
        if input_columns is not None and len(input_columns) != len(parameters):
            counts = f"{len(input_columns)} columns for {len(parameters)} parameters"
            raise _wrong(f'input_columns of function "{shown}" do not fit: {counts}')
        rules = (on_error,) if isinstance(on_error, OnError) else tuple(on_error)
        if not all(isinstance(item, OnError) for item in rules):
            raise _wrong(f'on_error of function "{shown}" is not a list of Retry, Skip and Fail')
        for word, number in (("checkpoint_size", checkpoint_size), ("in_flight", in_flight)):
            _positive(word, number)
        for word, limit in (("timeout", timeout), ("rate", rate)):
            if limit is not None and not limit > 0:
                raise _wrong(f"{word} must be above 0, not {limit}")
        return RowFunction(
            made,
            shown,
            kind,
            parameters,
            kinds,
            text,
            length,
            version,
            deterministic,
            None if input_columns is None else tuple(input_columns),
            _batch_sizes(batch_size, min_batch_size, max_batch_size),
            checkpoint_size,
            rules,
            timeout,
            in_flight,
            rate or 0.0,
        )

    return decorate if function is None else decorate(function)


def _signature(made: Any, name: str) -> inspect.Signature:  # noqa: ANN401
    called = made
    if isinstance(made, type):
        called = made.__call__
        own = any("__call__" in vars(base) for base in made.__mro__[:-1])
        if not own:
            raise _wrong(f'objects of class "{name}" cannot be called', hint="give it __call__")
    try:
        found = inspect.signature(called, eval_str=True)
    except Exception:  # an annotation that names what is not there: its text is enough
        try:
            found = inspect.signature(called)
        except (TypeError, ValueError) as error:
            raise _wrong(f'the parameters of function "{name}" cannot be read') from error
    if isinstance(made, type):
        found = found.replace(parameters=list(found.parameters.values())[1:])
    return found


def _taken(
    made: Any,  # noqa: ANN401
    signature: inspect.Signature,
    name: str,
) -> tuple[FunctionKind, tuple[str, ...], tuple[str, ...]]:
    """How a function takes its inputs, its parameters, and what each one is given as."""
    given = list(signature.parameters.values())
    loose = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    if any(item.kind in loose for item in given):
        raise _wrong(
            f'function "{name}" takes any number of inputs',
            hint="name each parameter after the column that it means",
        )
    if not given:
        raise RowViewError(
            f'function "{name}" has no parameters',
            hint="a column that no input decides is an expression of SQL",
            code="function-without-inputs",
        )
    words = [_word(item.annotation) for item in given]
    called = getattr(made, "__call__", made) if isinstance(made, type) else made  # noqa: B004
    if inspect.iscoroutinefunction(called):
        kind = FunctionKind.ASYNC
    elif "RecordBatch" in words:
        if len(given) > 1:
            raise _wrong(f'function "{name}" takes a RecordBatch and something beside it')
        kind = FunctionKind.BATCH
    else:
        kinds = {_WHOLE_COLUMNS.get(word, "scalar") for word in words}
        if len(kinds) > 1:
            raise _wrong(
                f'function "{name}" takes columns of several kinds',
                detail=", ".join(words),
                hint="annotate all parameters alike: plain values, pa.Array or pd.Series",
            )
        kind = FunctionKind(kinds.pop())
    return kind, tuple(item.name for item in given), tuple(words)


def _word(annotation: object) -> str:
    """The last word of an annotation."""
    if isinstance(annotation, str):
        return annotation.split("[")[0].split(".")[-1].strip()
    return str(getattr(annotation, "__name__", annotation))


def _returned(
    returns: object, signature: inspect.Signature, kind: FunctionKind, name: str
) -> tuple[str, int | None]:
    given = signature.return_annotation if returns is None else returns
    if isinstance(given, FloatVector):
        return "array<float>", given.length
    whole = kind in (FunctionKind.ARROW, FunctionKind.PANDAS, FunctionKind.BATCH)
    if given is inspect.Signature.empty or (returns is None and whole):
        raise _untyped(name, "nothing says what it gives")
    text = given if isinstance(given, str) and returns is not None else _python_type(given)
    if text is None:
        raise _untyped(name, f"{given!r} is no type of a column")
    from grebe.worker.arrow_types import arrow_type

    try:
        arrow_type(text)
    except ValueError as error:
        raise _untyped(name, str(error)) from None
    return " ".join(text.split()).lower() if "<" not in text else " ".join(text.split()), None


def _python_type(given: object) -> str | None:
    if isinstance(given, str):
        given = getattr(builtins, given, None)
    parts = [item for item in get_args(given) if item is not type(None)]
    if get_origin(given) is list and len(parts) == 1:
        inner = _python_type(parts[0])
        return inner and f"array<{inner}>"
    if get_origin(given) is not None and len(parts) == 1:  # X | None
        return _python_type(parts[0])
    try:
        return _FROM_PYTHON.get(given)
    except TypeError:
        return None


def _untyped(name: str, why: str) -> DefinitionError:
    return RowViewError(
        f'the type of function "{name}" is not known',
        detail=why,
        hint='@grebe.udf(returns="string"), or annotate what it returns',
        code="function-type",
    )


def _batch_sizes(fixed: int | None, least: int | None, most: int | None) -> tuple[int, int]:
    for word, number in (
        ("batch_size", fixed),
        ("min_batch_size", least),
        ("max_batch_size", most),
    ):
        if number is not None:
            _positive(word, number)
    if fixed is not None:
        if (least or most) is not None:
            raise _wrong("batch_size fixes what min_batch_size and max_batch_size leave open")
        return fixed, fixed
    low, high = least or min(64, most or 64), most or max(1024, least or 0)
    if low > high:
        raise _wrong(f"min_batch_size {low} is above max_batch_size {high}")
    return low, high


def _positive(word: str, number: Any, least: int = 1) -> None:  # noqa: ANN401
    if not isinstance(number, int) or isinstance(number, bool) or number < least:
        raise _wrong(f"{word} must be at least {least}, not {number!r}")


def _kinds(exceptions: Sequence[Any]) -> tuple[type[BaseException], ...]:
    for item in exceptions:
        if not (isinstance(item, type) and issubclass(item, BaseException)):
            raise _wrong(f"{item!r} is not an exception's class")
    return tuple(exceptions) or (Exception,)


def _pattern(text: str) -> str:
    try:
        compiled(text)
    except PatternError as error:
        raise _wrong(f"match={text!r} is not a regular expression: {error}") from None
    return text


def _least(numbers: Any) -> Any:  # noqa: ANN401
    return min((number for number in numbers if number is not None), default=None)


def _wrong(message: str, detail: str | None = None, hint: str | None = None) -> DefinitionError:
    return RowViewError(message, detail=detail, hint=hint, code="function-option")


def _own_module(made: object) -> Any:  # noqa: ANN401
    """The module that goes along with a function: one that a person wrote, not an installed one."""
    from grebe.function_fingerprint import is_installed

    name = getattr(made, "__module__", None) or "__main__"
    if name == "__main__" or name not in sys.modules:
        return None
    file = getattr(sys.modules[name], "__file__", None)
    if file is None or is_installed(file):
        return None
    top = name.split(".", maxsplit=1)[0]
    return sys.modules.get(top, sys.modules[name])


def said_by(document: Mapping[str, Any]) -> dict[str, Any]:
    """What a worker needs of a function's plain values: all but the function itself.

    Raises:
        DefinitionError: another Python made it.
    """
    here = "{}.{}".format(*sys.version_info[:2])
    if document["python"] != here:
        raise DefinitionError(
            f'function "{document["name"]}" was packed by Python {document["python"]}',
            detail=f"this is Python {here}, which cannot run it",
            hint="create the view again under this Python",
            code="function-python",
        )
    return {key: value for key, value in document.items() if key != "packed"}
