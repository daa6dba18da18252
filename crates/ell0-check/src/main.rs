//! `ell0-check FILE`: checks a certificate of `ell0 analyze`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path] = arguments.as_slice() else {
        eprintln!("ell0-check CERTIFICATE: checks that every trajectory from its cells arrives");
        return ExitCode::from(2);
    };
    let text = match ell0::input::read_text(path) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::FAILURE;
        }
    };
    match ell0_check::check(&text) {
        Ok(found) => {
            println!(
                "verified: every trajectory from {:.3} % of the box reaches the set within {} steps, and does not leave it again ({} cells)",
                // Downwards.
                (1e5 * found.share).floor() / 1e3,
                found.steps,
                found.cells
            );
            if found.inner_radius > 0.0 {
                println!(
                    "V falls in the set at every step but nearer to its centre than {:.1e}",
                    found.inner_radius
                );
            }
            ExitCode::SUCCESS
        }
        Err(flaw) => {
            eprintln!("rejected: {flaw}");
            ExitCode::FAILURE
        }
    }
}
