"""Products of columns on a CUDA device: of all rows, class by class, and with targets."""

from __future__ import annotations

from dataclasses import replace

from suffice.kernels.array_blocks import Array
from suffice.kernels.cuda import launch
from suffice.kernels.cuda import sums as per_class
from suffice.kernels.cuda.launch import Beside
from suffice.kernels.cuda.rows import DeviceRows
from suffice.kernels.protocol import FloatArray

#: Up to this many classes and columns, reading all rows for every class beats sorting them.
FEW_CLASSES, NARROW = 4, 64

#: The references, weights, sums and products, on the host.
Sums = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


def scatter(rows: DeviceRows, reference: Array, classes: int) -> Sums | None:
    """Return references, class weights, (k,), sums, (k, d), and the products of all rows, (d, d), about them."""
    if classes <= launch.FEW and rows.features <= launch.WIDEST_TILE:
        found = launch.scatter(rows, reference, classes, Beside(classes, 0), rows.weight)
        faults, weights, _, sums, products, centre = launch.fetched(*found, reference)
    else:
        beside = launch.class_sums(rows, per_class.MOMENTS, classes, reference, rows.weight)
        across = products_of(rows, reference, rows.weight)
        faults, weights, sums, products, centre = launch.fetched(*beside[:3], across, reference)
    return None if faults else (centre, weights, sums, products)


def scatter_by_class(rows: DeviceRows, reference: Array, classes: int) -> Sums | None:
    """Return references, class weights, (k,), sums, (k, d), and the products of each class, (k, d, d), about them."""
    beside = launch.class_sums(rows, per_class.MOMENTS, classes, reference, rows.weight)
    near = reference.shape[0] == 1
    if classes <= FEW_CLASSES and rows.features <= NARROW:
        every = [
            launch.scatter(rows, reference, classes, Beside(0, 0), rows.weight, only=code).products
            for code in range(classes)
        ]
    else:
        codes = rows.codes
        assert codes is not None
        order = codes.argsort()
        held = codes.to(rows.torch.int64).clip(0, classes - 1)
        ends = rows.torch.bincount(held, minlength=classes).cumsum(0).tolist()
        starts = [0, *ends[:-1]]
        every = [
            _gathered(rows, order[start:stop], reference if near else reference[code : code + 1])
            for code, (start, stop) in enumerate(zip(starts, ends, strict=True))
        ]
    faults, weights, sums, products, centre = launch.fetched(*beside[:3], rows.torch.stack(every), reference)
    return None if faults else (centre, weights, sums, products)


def scatter_with_targets(rows: DeviceRows, reference: Array, aim: Array) -> Sums | None:
    """Return references, the weight, (1,), sums, (1, d + t), and products, (d + t, d + t), of [x, y] about them."""
    torch, features, targets = rows.torch, rows.features, int(aim.shape[0])
    raw = rows.zeros(features + targets, features + targets)
    if targets < launch.FEW and features <= launch.WIDEST_TILE:
        found = launch.scatter(rows, reference, 1, Beside(1 + targets, 2, aim), rows.weight)
        faults, weights, squares = found.faults, found.weights, found.squares[1:]
        sums, raw[:features, :features] = found.sums, found.products
    else:
        y = replace(rows, x=rows.targets)
        beside = launch.class_sums(y, per_class.MOMENTS, 1, aim[None], rows.weight, labelled=False)
        faults, weights, squares = beside.faults, torch.cat([beside.weights, beside.sums[0]]), beside.squares[0]
        sums = _beside_targets(rows, reference, aim)
        raw[:features, :features] = products_of(rows, reference, rows.weight)
    raw[:features, features:] = sums[1:].T
    raw[features:, features:] = torch.diag(squares) if targets == 1 else _among_targets(rows, aim)
    whole = torch.cat([sums[0], weights[1:]])[None]
    centre = torch.cat([reference, aim[None]], dim=1)
    wrong, middle, mass, total, products = launch.fetched(faults, centre, weights[:1], whole, raw)
    return None if wrong else (middle, mass, total, products)


def weighted(rows: DeviceRows, weight: Array) -> tuple[Array, Array]:
    """Return the sum of x, (d,), and of the products of its columns, (d, d), with any weights."""
    origin = rows.zeros(1, rows.features)
    if rows.features <= launch.WIDEST_TILE:
        found = launch.scatter(rows, origin, 1, Beside(1, 1), weight)
        return found.sums[0], found.products
    beside = launch.class_sums(rows, per_class.MOMENTS, 1, origin, weight, labelled=False)
    return beside.sums[0], products_of(rows, origin, weight)


def products_of(rows: DeviceRows, reference: Array, weight: Array | None) -> Array:
    """Return the products of any number of columns about references, (d, d)."""
    if rows.features <= launch.WIDEST_TILE:
        kind = 0 if len(reference) > 1 else 1  # one reference serves all classes
        return launch.scatter(rows, reference, len(reference), Beside(0, kind), weight).products
    total, halfway = rows.zeros(rows.features, rows.features), rows.features // 2
    for block in launch.slabs(rows, 2 * rows.features):
        z = block.x - (reference if len(reference) == 1 else reference[_held(block, len(reference))])
        heavy = z if weight is None else z * _own(block, rows, weight)[:, None]
        for left, right in ((slice(halfway), slice(None)), (slice(halfway, None), slice(halfway, None))):
            total[left, right].addmm_(heavy[:, left].T, z[:, right])
    return total


def _own(block: DeviceRows, rows: DeviceRows, weight: Array) -> Array:
    start = block.batch.start - rows.batch.start
    return weight[start : start + block.rows].to(rows.torch.float64)


def _held(rows: DeviceRows, classes: int) -> Array:
    codes = rows.codes
    assert codes is not None
    return codes.to(rows.torch.int64).clip(0, classes - 1)


def _gathered(rows: DeviceRows, places: Array, reference: Array) -> Array:
    """Return the products of the columns of some rows."""
    total = rows.zeros(rows.features, rows.features)
    for some in places.split(max(2**25 // rows.features, 1)):
        weight = None if rows.weight is None else rows.weight[some]
        total += products_of(DeviceRows(replace(rows.batch, start=0, stop=len(some)), rows.x[some]), reference, weight)
    return total


def _beside_targets(rows: DeviceRows, reference: Array, aim: Array) -> Array:
    """Return the products of 1 and each target with the columns, (1 + t, d)."""
    away = rows.targets.to(rows.torch.float64) - aim
    mass = rows.torch.ones_like(away[:, 0]) if rows.weight is None else rows.weight.to(rows.torch.float64)
    columns = [mass, *(mass * away[:, target] for target in range(away.shape[1]))]
    found = (launch.class_sums(rows, per_class.MOMENTS, 1, reference, each, labelled=False) for each in columns)
    return rows.torch.cat([each.sums for each in found])


def _among_targets(rows: DeviceRows, aim: Array) -> Array:
    away = rows.targets.to(rows.torch.float64) - aim
    heavy = away if rows.weight is None else away * rows.weight.to(rows.torch.float64)[:, None]
    return heavy.T @ away
