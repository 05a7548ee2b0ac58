//! The integration tests: one program, so that it is linked once.

mod containers;
mod docs;
