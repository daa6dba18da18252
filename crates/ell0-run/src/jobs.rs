//! Jobs side by side, as many at a time as there are cores.

use std::{
    num::NonZero,
    ops::ControlFlow,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use crate::{
    error::{Error, Result},
    observer::{Event, Observer},
};

/// Works on all jobs and gives their results in their order. Jobs are begun in their order; after a failure no other is begun, and the first failure is the result. What a job does must not depend on
/// which others go on beside it.
pub(crate) fn side_by_side<J: Sync, T: Send>(
    jobs: &[J],
    observer: &dyn Observer,
    work: impl Fn(&J, &dyn Observer) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let together = Together {
        observer,
        failed: AtomicBool::new(false),
    };
    let slots: Vec<Mutex<Option<Result<T>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(index) else {
                return;
            };
            let result = work(job, &together);
            if result.is_err() {
                // The others need not begin what cannot be finished, and those that go on save and stop.
                next.store(jobs.len(), Ordering::Relaxed);
                together.failed.store(true, Ordering::Relaxed);
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
    let (mut results, mut error) = (Vec::new(), None);
    for slot in slots {
        match (slot.into_inner().ok().flatten(), &error) {
            (Some(Ok(result)), _) => results.push(result),
            // What really went wrong, rather than that others stopped because of it.
            (Some(Err(e)), None | Some(Error::Stopped { .. })) => error = Some(e),
            (Some(Err(_)) | None, _) => {}
        }
    }
    match error {
        Some(error) => Err(error),
        None if results.len() == jobs.len() => Ok(results),
        None => Err(Error::Stopped { folder: None }),
    }
}

/// Lets all jobs hear that one of them has failed.
struct Together<'a> {
    observer: &'a dyn Observer,
    failed: AtomicBool,
}

impl Observer for Together<'_> {
    fn has_enough(&self) -> bool {
        self.observer.has_enough()
    }

    fn hear(&self, event: Event) -> ControlFlow<()> {
        let told = self.observer.hear(event);
        if self.failed.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            told
        }
    }

    fn now(&self) -> Duration {
        self.observer.now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Silent;

    #[test]
    fn results_come_in_order_and_the_first_failure_counts() {
        let jobs: Vec<u64> = (0..50).collect();
        let squares = side_by_side(&jobs, &Silent, |k, _| Ok(k * k)).expect("all done");
        assert_eq!(squares, jobs.iter().map(|k| k * k).collect::<Vec<_>>());
        let begun = AtomicUsize::new(0);
        let failed = side_by_side(&jobs, &Silent, |k, _| {
            begun.fetch_add(1, Ordering::Relaxed);
            match k {
                3 => Err(Error::NoData),
                k => Ok(*k),
            }
        });
        assert!(matches!(failed, Err(Error::NoData)));
        assert!(begun.into_inner() < jobs.len());
        // Jobs that go on hear of it, and their stop does not hide it.
        let failed: Result<Vec<()>> = side_by_side(&[1, 0], &Silent, |k, observer| {
            // On a single core the one that waits must not be the first.
            if *k == 1 {
                return Err(Error::NoData);
            }
            while observer.hear(Event::Note("")).is_continue() {
                std::thread::yield_now();
            }
            Err(Error::Stopped { folder: None })
        });
        assert!(matches!(failed, Err(Error::NoData)));
    }
}
