//! The names of images and of files, as far as they say what is meant.

/// The name of an image, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Name<'a> {
    pub(super) repository: &'a str,
    pub(super) tag: Option<&'a str>,
    digest: Option<&'a str>,
}

/// The directory that a file is in, by its name alone.
pub(super) fn directory(path: &str) -> Option<&str> {
    path.rsplit('/').nth(1).filter(|name| !matches!(*name, "" | "." | ".."))
}

/// A path without `.`, and without `..` behind anything.
#[must_use]
pub(in crate::check) fn normal_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            "" if !parts.is_empty() => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, "" | "..")) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

// === impl Name ===

impl<'a> Name<'a> {
    pub(super) fn parse(text: &'a str) -> Self {
        let (named, digest) = match text.split_once('@') {
            Some((named, digest)) => (named, Some(digest)),
            None => (text, None),
        };
        // What stands behind a colon is a port unless nothing follows it.
        let tagged = named.rsplit_once(':').filter(|(_, tag)| !tag.contains('/'));
        let (repository, tag) = tagged.map_or((named, None), |(repository, tag)| (repository, Some(tag)));
        let repository = repository.strip_prefix("docker.io/").unwrap_or(repository);
        let repository = repository.strip_prefix("library/").unwrap_or(repository);
        Self { repository, tag, digest }
    }

    /// Whether it is surely the same image.
    pub(super) fn is(&self, other: &Self) -> bool {
        let same_digest = self.digest.is_some() && self.digest == other.digest;
        let both_tags = self.digest.is_none() && other.digest.is_none() && self.full() == other.full();
        self.repository == other.repository && (same_digest || both_tags)
    }

    /// With the tag that Docker takes when there is none.
    pub(super) fn full(&self) -> String {
        match self.digest {
            Some(digest) => format!("{}@{digest}", self.repository),
            None => format!("{}:{}", self.repository, self.tag.unwrap_or("latest")),
        }
    }

    /// The last part of the repository.
    pub(super) fn last(&self) -> &'a str {
        self.repository.rsplit('/').next().unwrap_or(self.repository)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_images_are_taken_apart() {
        let parts = |text| {
            let name = Name::parse(text);
            (name.repository.to_owned(), name.tag.map(str::to_owned), name.last().to_owned(), name.full())
        };
        let owned = |repository: &str, tag: Option<&str>, last: &str, full: &str| {
            (repository.to_owned(), tag.map(str::to_owned), last.to_owned(), full.to_owned())
        };
        assert_eq!(parts("docker.io/library/nginx"), owned("nginx", None, "nginx", "nginx:latest"));
        assert_eq!(parts("host:5000/a/web:1.2"), owned("host:5000/a/web", Some("1.2"), "web", "host:5000/a/web:1.2"));
        assert_eq!(parts("host:5000/web"), owned("host:5000/web", None, "web", "host:5000/web:latest"));
        assert_eq!(parts("web:1@sha256:ab"), owned("web", Some("1"), "web", "web@sha256:ab"));
        assert!(Name::parse("web:2@sha256:ab").is(&Name::parse("web@sha256:ab")));
        assert!(!Name::parse("web@sha256:ab").is(&Name::parse("web")));
    }

    #[test]
    fn paths_are_compared_without_their_detours() {
        for (path, wanted) in [
            ("./a/./b", "a/b"),
            ("a/../b", "b"),
            ("../a//b", "../a/b"),
            ("/x/../y", "/y"),
            ("", ""),
            ("../..", "../.."),
        ] {
            assert_eq!(normal_path(path), wanted, "{path}");
        }
    }
}
