//! Which format a file has: told by what is in it, never by its name.

use super::load::{FORMATS, Format, Loading, Reading};
use super::source::{FileId, Problem, Source};
use super::tree::{self, Node};
use crate::check::model::Model;
use std::rc::Rc;

/// What came of one file.
#[derive(Debug, Default)]
pub struct Loaded {
    /// What is wrong in it.
    pub problems: Vec<Problem>,
    /// How many documents of it were understood.
    pub understood: usize,
    /// What in it was passed over.
    pub passed_over: Vec<String>,
}

/// Adds everything in a file to the model. Not `named` itself, a file may be of a format that nothing is
/// known of, and is passed over then.
pub fn load(file: FileId, source: &Source, named: bool, model: &mut Model) -> Loaded {
    let (wrong, passed_over, origins) = Default::default();
    let (name, text) = (source.name.as_str(), source.text.as_str());
    let mut loading = Loading { file, name, text, model, wrong, passed_over, origins, spellings: &[] };
    let mut loaded = Loaded::default();
    let problem =
        |at: u32, message: String| Problem { file: source.name.clone(), line: Some(source.position(at).0), message };
    for format in FORMATS {
        if let Reading::Text { is, load } = format.read
            && is(&source.text)
        {
            load(&source.text, &mut loading);
            loaded.understood += 1;
            return finish(loaded, loading, &problem);
        }
    }
    match tree::parse(file, &source.text) {
        Err(wrong) => loaded.problems.push(problem(wrong.at, wrong.message)),
        Ok(documents) => {
            for document in documents.iter().filter(|document| !document.is_null()) {
                if let Some(load) = loader(document) {
                    load(document, &mut loading);
                    loaded.understood += 1;
                } else if named {
                    loaded.problems.push(problem(document.place.start, unknown(document)));
                } else {
                    loaded.passed_over.push("a document of no known format".to_owned());
                }
            }
        }
    }
    finish(loaded, loading, &problem)
}

fn finish(mut loaded: Loaded, loading: Loading<'_>, problem: &dyn Fn(u32, String) -> Problem) -> Loaded {
    loaded.problems.extend(loading.wrong.into_iter().map(|(place, message)| problem(place.start, message)));
    loaded.passed_over.extend(loading.passed_over);
    loaded
}

fn loader(document: &Node) -> Option<fn(&Rc<Node>, &mut Loading<'_>)> {
    FORMATS.iter().find_map(|format: &Format| match format.read {
        Reading::Tree { is, load } if is(document) => Some(load),
        _ => None,
    })
}

fn unknown(document: &Node) -> String {
    let keys: Vec<&str> = document.entries().iter().map(|entry| entry.key.as_str()).take(4).collect();
    let found = if keys.is_empty() { document.described() } else { format!("a map of {}", keys.join(", ")) };
    let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    format!("of no known format: {found}; known are: {}", known.join(", "))
}
