//! What can go wrong with a run.

use std::path::{Path, PathBuf};

use ell0::wording::{listed, shown, shown_path, told};
use ell0_data::{derivative::Derivative, short::Shortage};

/// The result of every fallible operation of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong with a run, with the value at fault and what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A setting out of its range.
    #[error("{name} = {} is not allowed: {}", told(value), told(expected))]
    Setting {
        /// Its name.
        name: &'static str,
        /// Its value.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// Settings that contradict each other, or of which one is missing.
    #[error("{0}")]
    Settings(&'static str),
    /// No measurements.
    #[error("no measurements were given")]
    NoData,
    /// Nothing says which columns are which.
    #[error(
        "which columns? Name the states whose law is wanted, or the inputs and targets of a plain regression"
    )]
    NoColumns,
    /// A law of rates of change without time.
    #[error(
        "no column of time: name it, or give the time between rows (the columns are {}); a discrete law needs none",
        listed(columns)
    )]
    NoTime {
        /// The columns there are.
        columns: Vec<String>,
    },
    /// A file that is given twice, so that its rows would count twice.
    #[error("{} is given twice", shown_path(.0))]
    Twice(PathBuf),
    /// A column that is named twice among states and controls, or among inputs.
    #[error("column `{}` is named twice, as a state or input; name it once", shown(.0))]
    ColumnTwice(String),
    /// A column that is called as a candidate term is.
    #[error(
        "column `{}` has the name of a candidate term{}",
        shown(column),
        named_as_term(column)
    )]
    NameOfTerm {
        /// The column.
        column: String,
    },
    /// A time between rows beside a column that is the time.
    #[error(
        "column `{}` is the time, and a time between rows was given, too: leave the latter out, or give the column another name",
        shown(column)
    )]
    TimeTwice {
        /// The column.
        column: String,
    },
    /// A discrete law of rows at uneven times.
    #[error(
        "rows are {usual} apart as a rule, but {most} in one case of twenty: a discrete law needs even steps; a law of rates of change does not"
    )]
    UnevenSteps {
        /// The usual time between rows.
        usual: f64,
        /// That of the longest twentieth.
        most: f64,
    },
    /// Trajectories that are too short.
    #[error("{}; {}{}: {}", shortage.first, needs(*derivative, *needed), others(shortage), remedy(shortage, *derivative))]
    TooShort {
        /// Which they are.
        shortage: Box<Shortage>,
        /// Rows that are needed.
        needed: usize,
        /// How rates of change would be found; none for a discrete law.
        derivative: Option<Derivative>,
    },
    /// All trajectories are too short.
    #[error("all {trajectories} trajectories are too short: the longest has {longest} rows, and {}: take longer ones{}", needs(*derivative, *needed), other_way(*derivative))]
    AllShort {
        /// Their number.
        trajectories: u64,
        /// Rows of the longest one.
        longest: usize,
        /// Rows that are needed.
        needed: usize,
        /// How rates of change would be found; none for a discrete law.
        derivative: Option<Derivative>,
    },
    /// No stretch of rows without a gap that is long enough.
    #[error("no stretch of rows between gaps is long enough: {}, and the longest has {longest}: choose a narrower derivative, or fd4, which reaches over gaps", needs(Some(*derivative), *needed))]
    NoStretch {
        /// How rates of change would be found.
        derivative: Derivative,
        /// Rows that are needed.
        needed: usize,
        /// Rows of the longest stretch.
        longest: usize,
    },
    /// Fewer rows to learn from than candidate terms.
    #[error("no law for `{}`: {data} rows of data leave {left} to learn from (others are held out{}), and {terms} candidate terms need at least {}: take more data, or a library of fewer terms", shown(target), derivative.map_or(String::new(), |d| format!(", or are neighbours that {d} needs")), terms + 1)]
    TooFewRows {
        /// The target.
        target: String,
        /// Rows of measurements.
        data: u64,
        /// Rows of the linear problem that are not held out.
        left: u64,
        /// Candidate terms.
        terms: usize,
        /// How rates of change were found; none where there are none.
        derivative: Option<Derivative>,
    },
    /// Statistics are fitted, but settings say again what they already say.
    #[error(
        "statistics already say which columns are which, what the law gives and what the candidate terms are; leave that out"
    )]
    AlreadyKnown,
    /// Parameters of a network or a policy where equations are wanted.
    #[error("{} is a file of parameters, not a closed form in JSON", shown_path(.0))]
    Network(PathBuf),
    /// A policy without a loop.
    #[error(
        "a policy can be analysed only in a loop: name the environment, or a learned transition model"
    )]
    NoLoop,
    /// A world that cannot be analysed.
    #[error(
        "{environment} has no closed form that could be analysed; a learned transition model can take its place"
    )]
    NoClosedForm {
        /// The world.
        environment: String,
    },
    /// A world in which optimal control is not known.
    #[error("optimal control is not known in {environment}")]
    NoOptimum {
        /// The world.
        environment: String,
    },
    /// A file or folder that the system does not let us read or write.
    #[error("cannot {action} {}: {source}", shown_path(path))]
    Io {
        /// What was tried.
        action: &'static str,
        /// Where.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// A folder that is there already.
    #[error("the folder {} exists", shown_path(.0))]
    FolderExists(PathBuf),
    /// A file that is there already.
    #[error("{} exists already", shown_path(.0))]
    FileExists(PathBuf),
    /// A file that would be written while it is read.
    #[error("{} is being read: nothing is written over it", shown_path(.0))]
    ReadAndWritten(PathBuf),
    /// A file where a folder is wanted.
    #[error("{} is a file, where a folder is needed", shown_path(.0))]
    NotAFolder(PathBuf),
    /// A folder where a file is wanted.
    #[error("{} is a folder, where a file is needed", shown_path(.0))]
    IsAFolder(PathBuf),
    /// A folder that holds what no run has put there, so that it is not replaced.
    #[error(
        "the folder {} holds {}, which the manifest of no run names; only folders of runs are replaced",
        shown_path(folder),
        shown(name)
    )]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// What it holds.
        name: String,
    },
    /// A folder of a run in which somebody has changed a file, so that it is not replaced.
    #[error(
        "{} in the folder {} is not as the run has left it; only what a run has left is replaced",
        shown(name),
        shown_path(folder)
    )]
    Changed {
        /// The folder.
        folder: PathBuf,
        /// The file.
        name: String,
    },
    /// Something that is read lies in the folder that would be replaced.
    #[error(
        "{} is read, and lies in the folder {} that would be replaced",
        shown_path(input),
        shown_path(folder)
    )]
    InputInside {
        /// The folder.
        folder: PathBuf,
        /// What is read.
        input: PathBuf,
    },
    /// A file that belongs to a run, so that nothing else is written there.
    #[error(
        "{} belongs to the run in {}: nothing is written over it",
        shown_path(file),
        shown_path(folder)
    )]
    OfRun {
        /// The file.
        file: PathBuf,
        /// The folder of the run.
        folder: PathBuf,
    },
    /// A folder that another process writes to.
    #[error("another process is writing to {}; wait for its end, or end it", shown_path(.0))]
    Held(PathBuf),
    /// A folder without the run that was expected in it.
    #[error("{} holds no {expected}", shown_path(folder))]
    NoRun {
        /// The folder.
        folder: PathBuf,
        /// What was expected.
        expected: String,
    },
    /// A file of a run that is damaged, or not of it.
    #[error("{}: {}", shown_path(path), told(reason))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The run in a folder is another one than the one asked for.
    #[error("{} holds {found}, not {asked}", shown_path(folder))]
    OtherRun {
        /// The folder.
        folder: PathBuf,
        /// What it holds.
        found: String,
        /// What was asked for.
        asked: String,
    },
    /// The observer stopped the run; what can be resumed is saved.
    #[error("interrupted{}", if folder.is_some() { "; everything is saved" } else { "" })]
    Stopped {
        /// The folder from which it goes on, if there is one.
        folder: Option<PathBuf>,
    },
    /// A name that is not there.
    #[error("there is no {kind} `{}`; there are {known}", shown(name))]
    Unknown {
        /// What was named.
        kind: &'static str,
        /// The name.
        name: String,
        /// The names there are.
        known: String,
    },
    /// Something that is right by itself but does not suit the rest.
    #[error("{0}")]
    Unsuitable(String),
    /// An error with what it was about.
    #[error("{what}: {source}")]
    About {
        /// What it was about.
        what: String,
        /// The error.
        source: Box<Error>,
    },
    /// An error of the method.
    #[error(transparent)]
    Method(#[from] ell0::Error),
    /// An error of files of measurements.
    #[error(transparent)]
    Data(#[from] ell0_data::Error),
    /// An error of worlds and policies.
    #[error(transparent)]
    Control(#[from] ell0_control::Error),
    /// An error of drawing.
    #[error(transparent)]
    Plot(#[from] ell0_plot::Error),
}

/// What to do about a column that is called as a candidate term is.
fn named_as_term(column: &str) -> &'static str {
    match column {
        "1" => {
            " (`1` is the constant): give the column another name, or take a library without the constant, such as polynomial(3, no-bias)"
        }
        _ => {
            ": give the column another name, or leave the term out of the library with `without {…}`"
        }
    }
}

/// How many rows are needed, and what for.
fn needs(derivative: Option<Derivative>, needed: usize) -> String {
    let Some(derivative) = derivative else {
        return format!("a discrete law needs {needed} (a row and the next)");
    };
    let half = derivative.halo();
    format!("the derivative {derivative} needs {needed} (one, and {half} on either side)")
}

/// The trajectories that are too short beside the first.
fn others(shortage: &Shortage) -> String {
    match (shortage.short, shortage.trajectories) {
        (1, _) => String::new(),
        (short, of) => format!(", and {short} of {of} trajectories have fewer"),
    }
}

/// What can be done about rows that a way to find rates of change needs.
fn other_way(derivative: Option<Derivative>) -> String {
    let narrower = match derivative {
        None | Some(Derivative::Fd2) => return String::new(),
        Some(Derivative::Weak { half: 3.. }) => Derivative::Weak { half: 2 },
        Some(Derivative::SavGol { half: 3.. }) => Derivative::SavGol { half: 2 },
        Some(_) => return ", or choose another way: the derivative fd2 needs 3 rows".into(),
    };
    let rows = narrower.rows_needed();
    format!(
        ", or choose another way: the derivative {narrower} needs {rows} rows, the derivative fd2 needs 3"
    )
}

fn remedy(shortage: &Shortage, derivative: Option<Derivative>) -> String {
    let first = match shortage.trajectories {
        1 => "take a longer one",
        _ => "leave it out",
    };
    format!("{first}{}", other_way(derivative))
}

impl Error {
    pub(crate) fn setting(
        name: &'static str,
        value: impl ToString,
        expected: impl Into<String>,
    ) -> Self {
        Error::Setting {
            name,
            value: value.to_string(),
            expected: expected.into(),
        }
    }

    pub(crate) fn damaged(path: impl Into<PathBuf>, reason: impl ToString) -> Self {
        Error::Damaged {
            path: path.into(),
            reason: reason.to_string(),
        }
    }

    /// An error of the system, with what was tried where.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Error {
        let path = path.to_path_buf();
        move |source| Error::Io {
            action,
            path,
            source,
        }
    }

    /// The innermost error: what is wrong, without what it was about.
    #[must_use]
    pub fn root(&self) -> &Error {
        match self {
            Error::About { source, .. } => source.root(),
            other => other,
        }
    }
}

/// Says what an error was about.
pub(crate) trait About<T> {
    fn about(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<Error>> About<T> for Result<T, E> {
    fn about(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| Error::About {
            what: what(),
            source: Box::new(source.into()),
        })
    }
}
