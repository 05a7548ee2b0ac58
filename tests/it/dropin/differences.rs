//! Where lameduck differs from an original on purpose. docs/drop-in.md tells the same to users.

/// One fact of one situation.
pub(super) struct Difference {
    /// tini stands for tini-static as well.
    pub(super) program: &'static str,
    pub(super) situation: &'static str,
    pub(super) fact: &'static str,
    pub(super) theirs: &'static str,
    pub(super) ours: &'static str,
    pub(super) why: &'static str,
}

const fn differs(
    program: &'static str,
    situation: &'static str,
    fact: &'static str,
    theirs: &'static str,
    ours: &'static str,
    why: &'static str,
) -> Difference {
    Difference { program, situation, fact, theirs, ours, why }
}

pub(super) const DIFFERENCES: &[Difference] = &[differs("x", "x", "x", "x", "y", "x")];
