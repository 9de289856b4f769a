"""Reads records into the classes of records.py."""

from __future__ import annotations

import dataclasses
import functools
import json
import keyword
import os
import typing
from collections import abc
from typing import IO, Any, Mapping, Tuple, Union

from linespeed import records
from linespeed.records import Record

Source = Union[str, "os.PathLike[str]", IO[str], IO[bytes]]


class NotARecord(ValueError):
    """The input is not a linespeed record: the message contains the place and the reason."""


def read(source: Source) -> Record:
    """The record in a file, given by name or open. Raises NotARecord, or OSError if it cannot be read."""
    if hasattr(source, "read"):
        return _parse(source.read(), getattr(source, "name", "the file"))
    with open(source, "rb") as file:
        return _parse(file.read(), os.fspath(source))


def record_of(value: Mapping[str, Any]) -> Record:
    """The record in a parsed JSON object."""
    return _record(value, "the object")


def _parse(text: Union[str, bytes], name: str) -> Record:
    try:
        return _record(json.loads(text), name)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise NotARecord(f"{name}: not JSON: {error}") from error


def _record(value: Any, name: str) -> Record:
    if isinstance(value, dict) and "comparison" in value:
        raise NotARecord(f"{name}: a comparison, not a record")
    if not isinstance(value, dict) or not {"schema", "tool", "started"} <= value.keys():
        raise NotARecord(f"{name}: not a linespeed record")
    try:
        record: Record = _object(Record, value, "")
        return dataclasses.replace(record, json=value)
    except _Misfit as misfit:
        raise NotARecord(f"{name}: {misfit}") from None


class _Misfit(Exception):
    """A value that does not match the schema: its place and the expected kind."""


@functools.lru_cache(maxsize=None)
def _fields(kind: type) -> Tuple[Tuple[str, str, Any, bool], ...]:
    """Each field in JSON: its attribute, key, type, and whether it is required."""
    hints = typing.get_type_hints(kind, vars(records))
    found = []
    for field in dataclasses.fields(kind):
        key = field.name[:-1] if keyword.iskeyword(field.name[:-1]) and field.name.endswith("_") else field.name
        must = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if not (kind is Record and key == "json"):
            found.append((field.name, key, hints[field.name], must))
    return tuple(found)


def _object(kind: type, value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        raise _Misfit(f"{place or 'the record'} is not an object")
    given = {}
    for attribute, key, hint, must in _fields(kind):
        at = f"{place}.{key}" if place else key
        if value.get(key) is not None:
            given[attribute] = _value(hint, value[key], at)
        elif must:
            if type(None) not in typing.get_args(hint):
                raise _Misfit(f"{at} is missing")
            given[attribute] = None
    return kind(**given)


_PLAIN = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def _value(hint: Any, value: Any, place: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return _object(hint, value, place)
    if origin is tuple:
        if not isinstance(value, list):
            raise _Misfit(f"{place} is not a list")
        items = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        if len(items) != len(value):
            raise _Misfit(f"{place} has {len(value)} values instead of {len(items)}")
        return tuple(_value(item, each, f"{place}[{index}]") for index, (item, each) in enumerate(zip(items, value)))
    if origin is abc.Mapping:
        if not isinstance(value, dict):
            raise _Misfit(f"{place} is not an object")
        return {key: _value(arguments[1], each, f"{place}.{key}") for key, each in value.items()}
    if origin is Union:
        kinds = [kind for kind in arguments if kind is not type(None)]
        if value is None or len(kinds) > 1:
            return value
        return _value(kinds[0], value, place)
    # Records of a later version may contain values that this version does not know.
    plain = str if origin is typing.Literal else hint
    if plain in _PLAIN and value is not None:
        fits = isinstance(value, (int, float) if plain is float else plain)
        if not fits or (isinstance(value, bool) and plain is not bool):
            raise _Misfit(f"{place} is not {_PLAIN[plain]}")
        return float(value) if plain is float else value
    return value
