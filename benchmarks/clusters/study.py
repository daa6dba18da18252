"""python study.py FOLDER one|dask|dask-table|ray|ray-table [kill] -> a line of JSON."""

import json, os, resource, signal, sys, threading, time
from pathlib import Path


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def current():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


def mine():
    """Busy workers of Ray below this process: pids."""
    parents, names = {}, {}
    for p in Path("/proc").iterdir():
        if p.name.isdigit():
            try:
                stat = (p / "stat").read_text()
                names[int(p.name)] = (p / "cmdline").read_text()
                parents[int(p.name)] = int(stat.rsplit(")", 1)[1].split()[1])
            except OSError:
                pass

    def below(pid):
        while pid in parents:
            if pid == os.getpid():
                return True
            pid = parents[pid]
        return False

    return [
        pid
        for pid, name in names.items()
        if name.startswith(("ray::_gathered", "ray::ReadFiles")) and below(pid)
    ]


def main():
    folder, way, kill = sys.argv[1], sys.argv[2], "kill" in sys.argv
    from ell0 import Law, distributed

    question = dict(
        library="polynomial(3)",
        states=["x", "y", "z"],
        time="t",
        trajectory="run",
        derivative="weak(20)",
    )
    engine, data, pids, ready = None, folder, None, lambda: None
    if way.startswith("dask"):
        import distributed as dd_

        engine = "dask"
        cluster = dd_.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        )
        client = dd_.Client(cluster)
        pids = lambda: [w.pid for w in cluster.workers.values()]
        if way == "dask-table":
            import dask.dataframe as dd

            data = dd.read_parquet(folder)
    elif way.startswith("ray"):
        import ray

        engine = "ray"
        ray.init(
            num_cpus=2,
            include_dashboard=False,
            log_to_driver=False,
            object_store_memory=1_000_000_000,
        )
        pids = mine
        if way == "ray-table":
            import ray.data

            ray.data.DataContext.get_current().enable_progress_bars = False
            data = ray.data.read_parquet(folder)
    before = current()
    killed = []

    def murder():
        time.sleep(float(sys.argv[sys.argv.index("kill") + 1]))
        for _ in range(200):
            found = pids()
            if found:
                os.kill(found[0], signal.SIGKILL)
                killed.append(
                    (
                        found[0],
                        Path(f"/proc/{found[0]}/cmdline").read_text()[:40],
                        round(time.perf_counter() - begin, 2),
                    )
                )
                return
            time.sleep(0.01)

    begin = time.perf_counter()
    if kill:
        threading.Thread(target=murder, daemon=True).start()
    if way == "one":
        files = sorted(map(str, Path(folder).iterdir()))
        law = Law(
            question.pop("library"), derivative=question.pop("derivative"), criterion="validation"
        ).fit(files, **question, progress=False)
        rows = None
        size = None
        gathered = time.perf_counter() - begin
    else:
        found = distributed.statistics(data, question, engine=engine)
        gathered = time.perf_counter() - begin
        rows = found.rows
        law = found.law(criterion="validation", progress=False)
        import pickle

        size = len(pickle.dumps(found))
    seconds = time.perf_counter() - begin
    print(
        json.dumps(
            dict(
                way=way,
                killed=killed,
                rows=rows,
                gather_s=round(gathered, 2),
                s=round(seconds, 2),
                driver_before_mb=round(before),
                driver_peak_mb=round(peak()),
                bytes=size,
                coefficients=law.coefficients.tolist(),
                law=law.equations,
            )
        ),
        flush=True,
    )
    os._exit(0) if way == "one" else None
    (client.close(), cluster.close()) if engine == "dask" else ray.shutdown()


if __name__ == "__main__":
    main()
