//! Whether the kernel killed something of this container for want of memory.

use std::fs;

/// How many processes the out-of-memory killer has ended in our cgroup; `None` when that is not to
/// be seen.
pub(super) fn oom_kills() -> Option<u64> {
    // cgroup v2 as a container sees it, then v1.
    let files = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"];
    let text = files.iter().find_map(|file| fs::read_to_string(file).ok())?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")).and_then(|count| count.trim().parse().ok())
}
