//! Which known name was meant by an unknown one.

/// The known name nearest to `given`, if one is near enough to have been meant.
pub(super) fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_ascii_lowercase();
    // Half a name is a name that was shortened (`drain`, `timeout`); else a third may be mistyped.
    let far = given.chars().count() / 3 + 1;
    known
        .map(|name| {
            let part = given.len() >= 4 && name.contains(&given);
            (if part { 1 } else { distance(&given, name) }, name)
        })
        .filter(|(distance, _)| *distance < far.max(2))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many letters have to be changed, put in, taken out or swapped with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > b.len() {
        return usize::MAX;
    }
    // Three rows of the table of distances between all beginnings of the two: two back, last, this.
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let changed = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = changed.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::options::OPTIONS;

    fn meant(given: &str) -> Option<&'static str> {
        nearest(given, OPTIONS.iter().map(|spec| spec.long))
    }

    #[test]
    fn a_slip_of_the_keyboard_is_understood() {
        for (given, name) in [
            ("dealy", "delay"),
            ("delya", "delay"),
            ("dely", "delay"),
            ("DELAY", "delay"),
            ("drain", "drain-timeout"),
            ("timeout", "drain-timeout"),
            ("drain_timeout", "drain-timeout"),
            ("explian", "explain"),
            ("map-exits", "map-exit"),
        ] {
            assert_eq!(meant(given), Some(name), "{given}");
        }
    }

    #[test]
    fn what_is_like_nothing_is_not_guessed_at() {
        for given in ["", "x", "banana", "restart-policy", "init"] {
            assert_eq!(meant(given), None, "{given}");
        }
    }

    #[test]
    fn a_long_unknown_name_costs_little() {
        assert_eq!(meant(&"x".repeat(1_000_000)), None);
    }

    #[test]
    fn distances_are_right() {
        for (a, b, apart) in
            [("", "abc", 3), ("abc", "abc", 0), ("abc", "acb", 1), ("abc", "xbc", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(distance(a, b), apart, "{a} {b}");
        }
    }
}
