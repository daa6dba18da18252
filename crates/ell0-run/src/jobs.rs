//! Jobs side by side, as many at a time as there are cores.

use std::{
    num::NonZero,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use crate::error::{Error, Result};

/// Works on all jobs and gives their results in their order. Jobs are begun in their order; after a failure no other is begun, and the first failure is the result. What a job does must not depend on
/// which others go on beside it.
pub(crate) fn side_by_side<J: Sync, T: Send>(
    jobs: &[J],
    work: impl Fn(&J) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let slots: Vec<Mutex<Option<Result<T>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else {
                return;
            };
            let result = work(job);
            if result.is_err() {
                // The others need not begin what cannot be finished.
                next.store(jobs.len(), Ordering::Relaxed);
            }
            if let Ok(mut slot) = slots[index].lock() {
                *slot = Some(result);
            }
        }
    };
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        (0..cores.min(jobs.len())).for_each(|_| drop(scope.spawn(worker)));
    });
    let done = slots
        .into_iter()
        .map(|slot| slot.into_inner().ok().flatten());
    let (mut results, mut missing) = (Vec::new(), false);
    for result in done {
        match result {
            Some(result) => results.push(result?),
            None => missing = true,
        }
    }
    if missing {
        return Err(Error::Settings("not all jobs were done"));
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_the_first_failure_counts() {
        let jobs: Vec<u64> = (0..50).collect();
        let squares = side_by_side(&jobs, |k| Ok(k * k)).expect("all done");
        assert_eq!(squares, jobs.iter().map(|k| k * k).collect::<Vec<_>>());
        let begun = AtomicUsize::new(0);
        let failed = side_by_side(&jobs, |k| {
            begun.fetch_add(1, Ordering::Relaxed);
            match k {
                3 => Err(Error::NoData),
                k => Ok(*k),
            }
        });
        assert!(matches!(failed, Err(Error::NoData)));
        assert!(begun.into_inner() < jobs.len());
    }
}
