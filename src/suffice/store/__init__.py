"""Model files: one versioned safetensors file per model, with arrays and strict JSON and no code."""

from suffice.store.contents import FORMAT, Contents, StoreError, check_shapes, nest_contents, unnest_contents
from suffice.store.files import read, write
from suffice.store.stored import Stored, class_name, load, restore

__all__ = [
    "FORMAT",
    "Contents",
    "StoreError",
    "Stored",
    "check_shapes",
    "class_name",
    "load",
    "nest_contents",
    "read",
    "restore",
    "unnest_contents",
    "write",
]
