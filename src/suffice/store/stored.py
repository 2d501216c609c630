"""What a model needs to be saved to a file and loaded from one."""

from __future__ import annotations

import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

from suffice.store.contents import VERSION, Contents, StoreError
from suffice.store.files import read, write


class Stored(ABC):
    """A model that can be saved. A subclass says what its file holds, and how it is made from that again.

    Every subclass whose name does not begin with an underscore is known to :func:`load` by that name.

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
        """Write the model to a file, in place of one that is there; :func:`suffice.store.load` reads it.

        Parameters
        ----------
        path
            A path, or a URL: ``s3://bucket/model``, ``gs://bucket/model`` (``pip install 'suffice[cloud]'``).
        """
        write(path, self._contents())

    @abstractmethod
    def _contents(self) -> Contents:
        """Return what the model's file holds; its kind is the name of the class."""

    @classmethod
    @abstractmethod
    def _from_contents(cls, contents: Contents) -> Self:
        """Return the model whose :meth:`_contents` these are."""


def class_name(kind: type) -> str:
    """Return what a file calls a class that is no part of suffice.

    Examples
    --------
    >>> class_name(Contents)
    'suffice.store.contents:Contents'
    """
    return f"{kind.__module__}:{kind.__qualname__}"


def load(path: str | os.PathLike[str], families: Iterable[type] | Mapping[str, type] = ()) -> Any:
    """Return the model that a file holds.

    Parameters
    ----------
    path
        The file: a path, or a URL such as ``s3://bucket/model``.
    families
        The classes of families (:class:`suffice.families.Family`) and solvers of one's own that the model was fitted
        with. The file names the class it needs, ``module:name``, and nothing is imported by that name. For a class that
        has been renamed or moved, a dictionary from the name in the file to the class.

    Raises
    ------
    StoreError
        Where :func:`read` would, where the file holds a kind of model that is not known, and where it needs a family
        or a solver that was not given.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/model", Contents("Oracle", {}, {}, {}))
    ...     load(f"{folder}/model")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    suffice.store.contents.StoreError: ...model holds a model of kind 'Oracle', which suffice ... does not know...
    """
    given = families if isinstance(families, Mapping) else {class_name(kind): kind for kind in families}
    contents = replace(read(path), families=given)
    known = {name: kind for name, kind in Stored.kinds.items() if not inspect.isabstract(kind)}
    if contents.kind not in known:
        raise StoreError(
            f"{os.fspath(path)} holds a model of kind {contents.kind!r}, which suffice {VERSION} does not know (it "
            f"knows {', '.join(sorted(known)) or 'none'}): upgrade suffice, or import the module that defines it"
        )
    try:
        return known[contents.kind]._from_contents(contents)
    except StoreError as error:
        raise StoreError(f"{os.fspath(path)} {error}") from error.__cause__
    except Exception as error:  # a model meets settings and arrays here that it may never have written
        why = f"{type(error).__name__}: {error}"
        raise StoreError(
            f"{os.fspath(path)} holds a {contents.kind} that suffice {VERSION} cannot make a model of ({why}): "
            "load it with the version that wrote it, or save the model again"
        ) from error
