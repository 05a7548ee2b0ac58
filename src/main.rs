//! The PID-1 binary.
fn main() {}
