//! Kills.
