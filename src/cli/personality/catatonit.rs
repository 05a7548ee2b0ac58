//! catatonit, and podman-init, which is the same program. Its pause mode is left out: that is no init
//! but a process that holds the namespaces of a pod.

use super::getopt::{self, Grammar};
use super::{Asked, LICENCE, Printed, Program, Variable, is_set, page, variable};
use crate::cli::options::Id;
use std::ffi::OsString;

const OPTIONS: [[&str; 2]; 6] = [
    ["-g", "signal the process group of the command"],
    ["-h", "print this page"],
    ["-L", "print the licence"],
    ["-V, --version", "print the version"],
    ["", ""],
    ["CATATONIT_DEBUG", "log what happens"],
];

/// Reads a command line of catatonit's.
pub(super) fn read(args: &[OsString], environ: &[Variable]) -> Result<Asked, Printed> {
    let grammar = Grammar {
        letters: &[(b'g', false), (b'h', false), (b'L', false), (b'P', false), (b'V', false)],
        names: &[("version", b'V')],
        anywhere: variable(environ, "POSIXLY_CORRECT").is_none(),
    };
    let mut asked = Asked::of(Program::Catatonit);
    let line = getopt::read(&grammar, args);
    for option in line.options {
        let (letter, _) = option.map_err(|why| Program::Catatonit.complaint(&why))?;
        match letter {
            b'g' => asked.flag(Id::Group, "-g", "yes"),
            b'L' => return Err(page(LICENCE.to_owned())),
            b'V' => return Err(page(crate::cli::version())),
            b'P' => {
                let why =
                    "-P: lameduck has no pause mode: the container that holds a pod together needs catatonit itself";
                return Err(Program::Catatonit.complaint(why));
            }
            _ => return Err(Program::Catatonit.help("catatonit [OPTIONS] [--] COMMAND [ARGUMENTS]", &OPTIONS)),
        }
    }
    asked.command = line.operands;
    if is_set(environ, "CATATONIT_DEBUG") {
        asked.beaten(Id::LogLevel, "CATATONIT_DEBUG", "debug");
    }
    Ok(asked)
}
