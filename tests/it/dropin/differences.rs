//! Where lameduck differs from an original on purpose. The table in examples/drop-in tells users the
//! same.

/// What differs in some situations, and why.
pub(super) struct Difference {
    /// tini stands for tini-static as well.
    pub(super) program: &'static str,
    pub(super) situations: &'static [&'static str],
    /// Each fact: its name, the original's, ours.
    pub(super) facts: &'static [(&'static str, &'static str, &'static str)],
    pub(super) why: &'static str,
}

const fn differs(
    program: &'static str,
    situations: &'static [&'static str],
    facts: &'static [(&'static str, &'static str, &'static str)],
    why: &'static str,
) -> Difference {
    Difference { program, situations, facts, why }
}

// === impl Difference ===

impl Difference {
    /// Whether it is one of this program's.
    pub(super) fn is_of(&self, program: &str) -> bool {
        self.program == program.trim_end_matches("-static")
    }
}

const ON_STDOUT: &[(&str, &str, &str)] = &[("stdout", "silent", "speaks"), ("stderr", "speaks", "silent")];
const LOG_ON_STDERR: &[(&str, &str, &str)] = &[("stdout", "speaks", "silent"), ("stderr", "silent", "speaks")];
const NO_MEANS_NO: &str = "a variable that says no means no";
const PASSED_ON: &str = "an init passes on what it gets";
const LETS_GO: &str = "an init holds on to nothing that was given to its command";
const SOCKETS: &str = "sockets for the init are the command's, which takes none that name another process";
const GOES_ON: &str = "a script that goes on after it and reads from it";
const GIVEN_BACK: &str = "the terminal is for whoever goes on";
const ADOPTS: &str = "zombies are reaped also where it is not process 1, without a warning that nobody can act on";

pub(super) const DIFFERENCES: &[Difference] = &[
    differs(
        "dumb-init",
        &["help", "help though more is wrong behind it", "version, one letter", "version, in full"],
        ON_STDOUT,
        "what was asked for goes to standard output",
    ),
    differs(
        "catatonit",
        &["help", "help though more is wrong behind it", "help behind the command"],
        ON_STDOUT,
        "what was asked for goes to standard output",
    ),
    differs(
        "tini",
        &["verbose by the command line", "verbose by variable"],
        LOG_ON_STDERR,
        "standard output is the command's",
    ),
    differs("catatonit", &["verbose by a variable that says no"], &[("stderr", "speaks", "silent")], NO_MEANS_NO),
    differs("tini", &[GOES_ON], &[("status", "5", "4")], GIVEN_BACK),
    differs("catatonit", &[GOES_ON], &[("status", "5", "4")], GIVEN_BACK),
    differs("tini", &["sockets that are meant for the init"], &[("stdout", "of another\n", "its\n")], SOCKETS),
    differs("dumb-init", &["sockets that are meant for the init"], &[("stdout", "of another\n", "its\n")], SOCKETS),
    differs(
        "dumb-init",
        &["real-time signals that were ignored"],
        &[("signals", "0000001000000000", "0000000000000000")],
        "all signals are reset alike",
    ),
    differs("tini", &["the group by a variable that says no"], &[("heard", "helper main", "main")], NO_MEANS_NO),
    differs(
        "tini",
        &["-p of a signal that few know"],
        &[("status", "1", "0"), ("stderr", "speaks", "silent")],
        "a signal is a signal",
    ),
    differs(
        "catatonit",
        &["a variable that is reserved"],
        &[("status", "1", "0"), ("stdout", "", "a\n")],
        "nothing came of what it was reserved for",
    ),
    differs(
        "catatonit",
        &["pause mode"],
        &[("end", "stays", "ends with 1")],
        "left out: that is no init, but a process that holds namespaces",
    ),
    differs("tini", &["a file as a directory"], &[("status", "1", "127")], "not found, as in any shell"),
    differs("tini", &["a loop of links"], &[("status", "1", "126")], "cannot be executed, as in any shell"),
    differs("tini", &["a name that is too long"], &[("status", "1", "126")], "cannot be executed, as in any shell"),
    differs(
        "tini",
        &["standard input closed"],
        &[("status", "1", "3")],
        "a closed stream is no reason not to run the command",
    ),
    differs(
        "tini",
        &["CHLD ignored by the parent"],
        &[("end", "stays", "ends with 3")],
        "the command has ended: so does the container",
    ),
    differs(
        "catatonit",
        &["CHLD ignored by the parent"],
        &[("end", "stays", "ends with 3")],
        "the command has ended: so does the container",
    ),
    differs(
        "tini",
        &["a command that asks to be traced"],
        &[("end", "ends with 1", "ends with 3")],
        "nobody traces it, so it goes on",
    ),
    differs(
        "catatonit",
        &["a command that asks to be traced"],
        &[("end", "stays", "ends with 3")],
        "nobody traces it, so it goes on",
    ),
    differs(
        "tini",
        &["a command of another user, without the right to signal it"],
        &[("end", "ends with 1", "stays")],
        "a signal that may not be sent is no reason to take the container down",
    ),
    differs(
        "dumb-init",
        &["verbose, and nobody reads standard error"],
        &[("end", "runs in circles", "ends with 3")],
        "a log never blocks",
    ),
    differs(
        "catatonit",
        &["verbose, and nobody reads standard error"],
        &[("end", "ends with 141", "ends with 3")],
        "a log never kills",
    ),
    differs(
        "tini",
        &["a sandbox that refuses prctl"],
        &[("status", "1", "3")],
        "what it asks for besides is no reason not to run the command",
    ),
    differs("tini", &["idle"], &[("sleeps through", "false", "true")], "nothing to do, nothing done"),
    differs(
        "tini",
        &["orphans, not being process 1 and not asked to adopt them"],
        &[("stdout", "adopted by another\n", "adopted\n")],
        ADOPTS,
    ),
    differs(
        "dumb-init",
        &["orphans, not being process 1 and not asked to adopt them"],
        &[("stdout", "adopted by another\n", "adopted\n")],
        ADOPTS,
    ),
    differs("tini", &["words about not being process 1"], &[("lines", "3", "0")], ADOPTS),
    differs(
        "tini",
        &["every signal but those of job control", "every signal, to the whole group"],
        &[("lost", "4 5 6 7 8 11 31", "")],
        PASSED_ON,
    ),
    differs(
        "catatonit",
        &["every signal but those of job control", "every signal, to the whole group"],
        &[("lost", "4 5 6 7 8 11 31", "")],
        PASSED_ON,
    ),
    differs("tini", &["TTIN and TTOU"], &[("heard", "", "21 22")], PASSED_ON),
    differs("catatonit", &["TTIN and TTOU"], &[("heard", "", "21 22")], PASSED_ON),
    differs("catatonit", &["TSTP", "stopped by TSTP, not being process 1"], &[("heard", "", "20")], PASSED_ON),
    differs("tini", &["stopped by TTOU, not being process 1"], &[("heard", "", "22")], PASSED_ON),
    differs("catatonit", &["stopped by TTOU, not being process 1"], &[("heard", "", "22")], PASSED_ON),
    differs(
        "tini",
        &["place in the background of a terminal"],
        &[("terminal", "foreground", "background")],
        "a background job does not take the terminal",
    ),
    differs(
        "catatonit",
        &["place in the background of a terminal"],
        &[("terminal", "foreground", "background")],
        "a background job does not take the terminal",
    ),
    differs(
        "catatonit",
        &["signals that were blocked"],
        &[("signals", "0000000008380800", "0000000008000800")],
        "a shell can stop its jobs",
    ),
    differs(
        "catatonit",
        &["nothing blocked in an ordinary start"],
        &[("signals", "0000000000380000", "0000000000000000")],
        "a shell can stop its jobs",
    ),
    differs(
        "tini",
        &["working directory and descriptors of the init"],
        &[("directory", "/usr", "/"), ("descriptors", "0 1 2 3", "0 1 2")],
        LETS_GO,
    ),
    differs(
        "dumb-init",
        &["working directory and descriptors of the init"],
        &[("descriptors", "0 1 2 3", "0 1 2")],
        LETS_GO,
    ),
    differs(
        "catatonit",
        &["working directory and descriptors of the init"],
        &[("directory", "/usr", "/"), ("descriptors", "0 1 2 4", "0 1 2")],
        LETS_GO,
    ),
];
