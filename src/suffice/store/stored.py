"""Base class of models that can be saved, and ``load``."""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Protocol, Self, TypeVar

import suffice
from suffice.store.contents import Contents, StoreError, way_out
from suffice.store.files import read, write


class Restorable(Protocol):
    """A class that reads itself from the contents of a file."""

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self: ...


S = TypeVar("S", bound=Restorable)


class Stored(ABC):
    """A model that can be saved. A subclass converts itself to :class:`Contents` and back.

    :func:`load` finds every subclass by its name, unless that starts with an underscore.

    Examples
    --------
    >>> import tempfile
    >>> class Constant(Stored):
    ...     def __init__(self, value):
    ...         self.value = value
    ...
    ...     def _contents(self):
    ...         return Contents("Constant", {"value": self.value}, {}, {})
    ...
    ...     @classmethod
    ...     def _from_contents(cls, contents):
    ...         return cls(contents.settings["value"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Constant(0.5).save(f"{folder}/model")
    ...     load(f"{folder}/model").value
    0.5
    >>> del Stored.kinds["Constant"]
    """

    kinds: ClassVar[dict[str, type[Stored]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not cls.__name__.startswith("_"):
            Stored.kinds[cls.__name__] = cls

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, atomically; :func:`suffice.store.load` reads it.

        Parameters
        ----------
        path
            A path, or a URL: ``s3://bucket/model``, ``gs://bucket/model`` (``pip install 'suffice[cloud]'``).
        """
        write(path, self._contents())

    @abstractmethod
    def _contents(self) -> Contents:
        """Return the contents of the model file; their kind is the name of the class."""

    @classmethod
    @abstractmethod
    def _from_contents(cls, contents: Contents) -> Self:
        """Return the model with these :meth:`_contents`."""


def class_name(kind: type) -> str:
    """Return the name in a file of a class that is not part of suffice.

    Examples
    --------
    >>> class_name(Contents)
    'suffice.store.contents:Contents'
    """
    return f"{kind.__module__}:{kind.__qualname__}"


def load(path: str | os.PathLike[str], families: Iterable[type] | Mapping[str, type] = ()) -> Any:
    """Load a model from a file.

    Parameters
    ----------
    path
        The file: a path, or a URL such as ``s3://bucket/model``.
    families
        The user's classes of families (:class:`suffice.families.Family`) and solvers that the model needs. The file
        contains the name of the class, ``module:name``, and nothing is imported by that name. For a class that was
        renamed or moved, a dictionary from the name in the file to the class.

    Raises
    ------
    StoreError
        If :func:`read` raises it, if the kind of model is unknown, and if the model needs a family or a solver that was
        not given.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/model", Contents("Oracle", {}, {}, {}))
    ...     load(f"{folder}/model")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    suffice.store.contents.StoreError: ...model contains a model of kind 'Oracle', which is unknown to suffice ...
    """
    given = families if isinstance(families, Mapping) else {class_name(kind): kind for kind in families}
    contents = replace(read(path), families=given)
    known = {name: kind for name, kind in Stored.kinds.items() if not inspect.isabstract(kind)}
    if contents.kind not in known:
        raise StoreError(
            f"{os.fspath(path)} contains a model of kind {contents.kind!r}, which is unknown to suffice "
            f"{suffice.__version__} (known: {', '.join(sorted(known)) or 'none'}): import the module that defines it; "
            f"{way_out(contents.version)}"
        )
    return restore(path, contents, known[contents.kind])


def restore(path: str | os.PathLike[str], contents: Contents, kind: type[S]) -> S:
    """Return the model with these contents of a file; an error names the file.

    Parameters
    ----------
    path
        The file.
    contents
        Its contents.
    kind
        The class of the model.
    """
    try:
        return kind._from_contents(contents)
    except StoreError as error:
        raise StoreError(f"{os.fspath(path)} {error}") from error.__cause__
    except Exception as error:  # settings and arrays are untrusted
        why = f"{type(error).__name__}: {error}"
        raise StoreError(
            f"{os.fspath(path)} contains a {contents.kind} that suffice {suffice.__version__} cannot load ({why}); "
            f"{way_out(contents.version)}"
        ) from error
