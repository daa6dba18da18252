//! Sequences of commands.
