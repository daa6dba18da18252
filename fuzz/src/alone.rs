//! One case in a process of its own: to be sure of its fault, and to make it small.

use std::{path::Path, process::Command};

use crate::{
    cases,
    desk::Desk,
    parsers::Settings,
    shrink::{PATIENCE, shrink},
    summary::Defect,
    targets::{Cases, make},
    verdict::{Fault, Kind},
    worker::{Found, UNABLE, death},
};

/// The fault of a case that runs alone. A machine may be busy: what is slow must be so three times.
pub fn confirmed(
    settings: &Settings,
    parser: &str,
    case: u64,
    fault: &Fault,
) -> anyhow::Result<Option<Fault>> {
    let bytes = bytes_of(settings, parser, case)?;
    let times = if fault.kind == Kind::Slow { 3 } else { 1 };
    let desk = Desk::new()?;
    let mut last = None;
    for _ in 0..times {
        last = alone(&desk, parser, &bytes, &settings.binary)?;
        if last.is_none() {
            return Ok(None);
        }
    }
    Ok(last)
}

/// The bytes of a case.
pub fn bytes_of(settings: &Settings, parser: &str, case: u64) -> anyhow::Result<Vec<u8>> {
    let target = make(parser, &settings.binary)?;
    let cases = Cases::new(parser, target.as_ref(), settings.seed)?;
    Ok(cases.bytes(target.as_ref(), case))
}

/// Runs bytes in a process of their own, and says what is wrong with them.
pub fn alone(
    desk: &Desk,
    parser: &str,
    bytes: &[u8],
    binary: &Path,
) -> anyhow::Result<Option<Fault>> {
    let file = desk.put("try", bytes);
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["try", parser]).arg(&file);
    if !binary.as_os_str().is_empty() {
        command.arg("--binary").arg(binary);
    }
    // A death tells where it was.
    let done = command.env("RUST_BACKTRACE", "1").output()?;
    let line = String::from_utf8_lossy(&done.stdout);
    if let Ok(Found { fault, .. }) = serde_json::from_str(line.trim()) {
        return Ok(Some(fault));
    }
    if done.status.success() {
        return Ok(None);
    }
    let stderr = String::from_utf8_lossy(&done.stderr);
    if done.status.code() == Some(UNABLE) {
        anyhow::bail!("{parser} cannot begin: {}", stderr.trim());
    }
    Ok(Some(death(done.status, &stderr)))
}

/// Makes a case that fails small, and keeps it.
pub fn make_small(
    settings: &Settings,
    parser: &str,
    found: &Found,
    times: u64,
) -> anyhow::Result<Defect> {
    let bytes = bytes_of(settings, parser, found.case)?;
    let signature = found.fault.signature();
    let desk = Desk::new()?;
    // What takes long is tried less often.
    let slow = matches!(found.fault.kind, Kind::Slow);
    let patience = if slow { 3 * PATIENCE } else { PATIENCE };
    let small = shrink(&bytes, patience, |bytes| {
        let fault = alone(&desk, parser, bytes, &settings.binary);
        matches!(fault, Ok(Some(fault)) if fault.signature() == signature)
    });
    let fault = alone(&desk, parser, &small, &settings.binary)?;
    let file = match &settings.keep {
        Some(folder) => {
            let extension = make(parser, &settings.binary)?.extension();
            Some(cases::keep(folder, parser, extension, &small)?)
        }
        None => None,
    };
    Ok(Defect {
        parser: parser.into(),
        case: found.case,
        times,
        fault: fault.unwrap_or_else(|| found.fault.clone()),
        length: small.len(),
        input: preview(&small),
        file,
    })
}

/// The beginning of some bytes, to be read by people.
fn preview(bytes: &[u8]) -> String {
    let shown: String = bytes[..bytes.len().min(300)].escape_ascii().to_string();
    if bytes.len() > 300 {
        shown + " …"
    } else {
        shown
    }
}
