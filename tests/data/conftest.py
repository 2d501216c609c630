from .clusters import cluster, dask_cluster, dask_here, spark_cluster  # noqa: F401
