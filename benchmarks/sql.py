"""Sums inside a database, compared with reading the rows: DuckDB over Parquet, and PostgreSQL.

``python -m benchmarks.sql --rows 10000000 --folder /tmp`` writes the files, measures, and stores the table;
``--server postgresql://...`` adds a server, in which a tenth of the rows is stored in a temporary table.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness import machine
from benchmarks.provenance import store

RESULTS = Path(__file__).with_name("sql.md")
COLUMNS = 20
ROUNDS = 3
#: Name of the table on a server.
NAME = "suffice_benchmark"


def write(path: Path, rows: int) -> None:
    """Write a table of 20 numbers and a target of three classes."""
    import duckdb

    bells = [f"100 * {j} + 2 * (i % 3) + 3 * (random() + random() + random() - 1.5) as x{j}" for j in range(COLUMNS)]
    names = "case i % 3 when 0 then 'alpha' when 1 then 'beta' else 'gamma' end as y"
    duckdb.connect().execute(
        f"copy (select {', '.join(bells)}, {names} from range({rows}) t(i)) to '{path}' (format parquet)"
    )


@contextmanager
def on_a_server(address: str, path: Path, rows: int) -> Iterator[str]:
    """Copy rows of a file to a table of a server, and yield its URL; the table is dropped afterwards."""
    import duckdb
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(address) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest(NAME, duckdb.connect().sql(f"from '{path}' limit {rows}").to_arrow_reader(1 << 16))
        connection.commit()
        cursor.execute(f"analyze {NAME}")
        connection.commit()
    try:
        yield f"{address}::{NAME}"
    finally:
        with dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.execute(f"drop table {NAME}")
            connection.commit()


def measure(table: str, model: str, width: int) -> dict[bool, tuple[float, float]]:
    """Return seconds and processor seconds of a fit, best of several, summed in the database or not."""
    from suffice.tables import fit

    left_out = {f"x{j}": "ignore" for j in range(width, COLUMNS)}
    best = {True: (float("inf"), float("inf")), False: (float("inf"), float("inf"))}
    for _ in range(ROUNDS):
        for inside in best:
            started, worked = time.perf_counter(), time.process_time()
            fit(table, "y", model, columns=left_out, in_database=inside)
            seconds = time.perf_counter() - started, time.process_time() - worked
            best[inside] = min(best[inside][0], seconds[0]), min(best[inside][1], seconds[1])
    return best


def main() -> None:
    """Write the files, measure, and store the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sql", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--folder", type=Path, default=Path("/tmp"))
    parser.add_argument("--server", help="a PostgreSQL server, as postgresql://...")
    options = parser.parse_args()
    lines = [
        "| rows | columns | model | where | in the database | read | ratio |",
        "|---:|---:|---|---|---:|---:|---:|",
    ]

    def row(table: str, rows: int, width: int, model: str, where: str) -> None:
        found = measure(table, model, width)
        shown = ["{:.2f} s ({:.2f} s of processor)".format(*found[inside]) for inside in (True, False)]
        ratio = found[False][0] / found[True][0]
        lines.append(f"| {rows:,} | {width} | {model} | {where} | {shown[0]} | {shown[1]} | {ratio:.2f} |")
        print(lines[-1], flush=True)

    for rows in options.rows:
        path = options.folder / f"suffice-{rows}.parquet"
        if not path.exists():
            write(path, rows)
        for model, width in (("nb", COLUMNS), ("gda", 5), ("gda", 10), ("gda", COLUMNS)):
            row(str(path), rows, width, model, "DuckDB, Parquet")
        if options.server:
            with on_a_server(options.server, path, rows // 10) as table:
                for model, width in (("nb", COLUMNS), ("gda", 10), ("gda", COLUMNS)):
                    row(table, rows // 10, width, model, "PostgreSQL")
    store(RESULTS, f"{machine()}\n\n" + "\n".join(lines) + "\n")
    print(f"stored in {RESULTS}")


if __name__ == "__main__":
    main()
