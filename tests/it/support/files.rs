//! Files of a test, gone with it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

/// A directory that everybody may read, removed when dropped.
pub(crate) struct TempDir {
    pub(crate) path: PathBuf,
}

/// Makes one.
pub(crate) fn tempdir() -> TempDir {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("lameduck-it-{}-{count}", std::process::id()));
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    TempDir { path }
}

// === impl TempDir ===

impl TempDir {
    /// Writes a file and returns its path.
    pub(crate) fn file(&self, name: &str, text: impl AsRef<[u8]>, mode: u32) -> String {
        let path = self.path.join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}
