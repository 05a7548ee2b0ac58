//! catatonit, and podman-init, which is the same program. Its pause mode is left out: that is no init
//! but a process that holds the namespaces of a pod.

use super::{Asked, Dialect, Leave, Variable, is_set};
use crate::cli::options::Id;
use std::ffi::OsStr;

pub(super) const DIALECT: Dialect = Dialect {
    letters: &[(b'g', false), (b'h', false), (b'L', false), (b'P', false), (b'V', false)],
    names: &[("version", b'V')],
    anywhere: true,
    help: "\
Usage: catatonit [OPTIONS] [--] COMMAND [ARGUMENTS]

  -g                signal the process group of the command
  -h                print this page
  -L                print the licence
  -V, --version     print the version

CATATONIT_DEBUG logs what happens. There is no pause mode (-P).
",
    take,
    variables,
};

fn take(asked: &mut Asked, letter: u8, _value: &OsStr) -> Result<(), Leave> {
    match letter {
        b'g' => asked.flag(Id::Group, "-g", "yes"),
        b'L' => return Err(Leave::Licence),
        b'V' => return Err(Leave::Version),
        b'P' => {
            let why = "-P: there is no pause mode: what holds a pod together needs catatonit itself";
            return Err(Leave::Wrong(why.to_owned()));
        }
        _ => return Err(Leave::Help),
    }
    Ok(())
}

fn variables(asked: &mut Asked, environ: &[Variable]) {
    if is_set(environ, "CATATONIT_DEBUG") {
        asked.beaten(Id::LogLevel, "CATATONIT_DEBUG", "debug");
    }
}
