//! Long calls: they run beside the interpreter, which hears how they go and can stop them.

use std::{
    ops::ControlFlow,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ell0_run::{Event, Observer};
use pyo3::{
    Py, PyAny, PyErr, PyResult, Python,
    exceptions::{PyKeyboardInterrupt, PyRuntimeError},
};

use crate::error::raised;

/// How often the interpreter is asked whether somebody pressed Ctrl-C.
const PULSE: Duration = Duration::from_millis(50);

/// An event, for the interpreter's thread.
enum Heard {
    Began(String, Option<u64>),
    Reached(String, u64, String),
    Ended(String, String),
    Note(String),
}

/// Sends events to the thread of the interpreter; it has the system's clock.
struct Teller<'a> {
    to: Option<Sender<Heard>>,
    stop: &'a AtomicBool,
    enough: &'a AtomicBool,
}

// A sender is only ever used through a shared reference, from several threads, which it allows.
impl Observer for Teller<'_> {
    fn hear(&self, event: Event) -> ControlFlow<()> {
        if let Some(to) = &self.to {
            let heard = match event {
                Event::Began { task, steps } => Some(Heard::Began(task.into(), steps)),
                Event::Reached { task, step, note } => {
                    Some(Heard::Reached(task.into(), step, note.into()))
                }
                Event::Ended { task, note } => Some(Heard::Ended(task.into(), note.into())),
                Event::Note(text) => Some(Heard::Note(text.into())),
                _ => None,
            };
            // Nobody listens any more only when the call is being given up.
            let _ = heard.map(|heard| to.send(heard));
        }
        match self.stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn has_enough(&self) -> bool {
        self.enough.load(Ordering::Relaxed)
    }

    fn now(&self) -> Duration {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        since.unwrap_or_default()
    }
}

/// Runs something on a thread of its own, without the interpreter's lock. Meanwhile this thread hands what happens to `progress`, if there is one, as `(kind, task, number, note)`, and looks whether it is to stop: on Ctrl-C, or
/// if `progress` raises or returns `False`. What can be resumed is saved before the exception is raised.
pub fn run<T: Send>(
    py: Python,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&dyn Observer) -> ell0_run::Result<T> + Send,
) -> PyResult<T> {
    beside(py, progress, false, work)
}

/// The same for work that can be brought to an end early: if `progress` returns `False`, its result so far is the result.
pub fn run_to_an_end<T: Send>(
    py: Python,
    progress: Option<Py<PyAny>>,
    work: impl FnOnce(&dyn Observer) -> ell0_run::Result<T> + Send,
) -> PyResult<T> {
    beside(py, progress, true, work)
}

fn beside<T: Send>(
    py: Python,
    progress: Option<Py<PyAny>>,
    ends_early: bool,
    work: impl FnOnce(&dyn Observer) -> ell0_run::Result<T> + Send,
) -> PyResult<T> {
    let (stop, enough) = (AtomicBool::new(false), AtomicBool::new(false));
    let (to, from) = channel();
    let teller = Teller {
        to: progress.is_some().then(|| to.clone()),
        stop: &stop,
        enough: &enough,
    };
    let from = Mutex::new(from);
    // It stays open as long as the work goes on.
    let open = to;
    std::thread::scope(|scope| {
        let worker = scope.spawn(move || {
            let done = work(&teller);
            drop(open);
            done
        });
        let mut raised_there: Option<PyErr> = None;
        loop {
            let heard = py.detach(|| listen(&from));
            if raised_there.is_none() {
                match tell(py, progress.as_ref(), &heard) {
                    Ok(true) => {}
                    Ok(false) if ends_early => enough.store(true, Ordering::Relaxed),
                    Ok(false) => {
                        stop.store(true, Ordering::Relaxed);
                        raised_there = Some(PyKeyboardInterrupt::new_err("stopped"));
                    }
                    Err(error) => {
                        stop.store(true, Ordering::Relaxed);
                        raised_there = Some(error);
                    }
                }
            }
            if heard.is_none() {
                break;
            }
        }
        let done = py.detach(|| worker.join());
        match (done, raised_there) {
            (Ok(Ok(value)), None) => Ok(value),
            // Ctrl-C with the sentence that says what is saved.
            (Ok(Err(error)), Some(there)) if there.is_instance_of::<PyKeyboardInterrupt>(py) => {
                Err(raised(error))
            }
            (_, Some(there)) => Err(there),
            (Ok(Err(error)), None) => Err(raised(error)),
            (Err(_), None) => Err(PyRuntimeError::new_err(
                "ell0 broke down; this is a defect, please report it",
            )),
        }
    })
}

/// What happened within a pulse; none when the work is over.
fn listen(from: &Mutex<Receiver<Heard>>) -> Option<Vec<Heard>> {
    let from = from.lock().unwrap_or_else(|e| e.into_inner());
    match from.recv_timeout(PULSE) {
        Ok(first) => {
            let mut heard = vec![first];
            heard.extend(from.try_iter().take(10_000));
            Some(heard)
        }
        Err(RecvTimeoutError::Timeout) => Some(Vec::new()),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

/// Tells what happened; whether the work is to go on.
fn tell(py: Python, progress: Option<&Py<PyAny>>, heard: &Option<Vec<Heard>>) -> PyResult<bool> {
    py.check_signals()?;
    let Some(progress) = progress else {
        return Ok(true);
    };
    let mut goes_on = true;
    for heard in heard.iter().flatten() {
        let answer = match heard {
            Heard::Began(task, steps) => progress.call1(py, ("began", task, *steps, "")),
            Heard::Reached(task, step, note) => {
                progress.call1(py, ("reached", task, Some(*step), note))
            }
            Heard::Ended(task, note) => progress.call1(py, ("ended", task, None::<u64>, note)),
            Heard::Note(text) => progress.call1(py, ("note", "", None::<u64>, text)),
        }?;
        if answer.is(pyo3::types::PyBool::new(py, false)) {
            goes_on = false;
        }
    }
    Ok(goes_on)
}
