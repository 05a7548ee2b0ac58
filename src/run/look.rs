//! A look at the processes, for the core.

use super::procfs::{self, Stat};
use crate::core::startup::Work;
use crate::core::{Pid, Process, Snapshot, programs};
use std::collections::HashMap;
use std::iter::successors;
use std::path::Path;

/// Every process there is, by its stat.
type Tree = HashMap<Pid, Stat>;

/// The main process; with all its descendants when it is a shell.
pub(super) fn at_main(main: Pid) -> Snapshot {
    let Some(process) = procfs::stat(main).map(|stat| process(main, &stat)) else { return Snapshot::default() };
    if !process.shell {
        return Snapshot { processes: vec![process], blind: false };
    }
    let tree = tree();
    let descendants = descendants(&tree, main);
    let mut processes: Vec<Process> =
        descendants.iter().filter_map(|pid| Some(process_with_pipes(*pid, tree.get(pid)?))).collect();
    mark_listening(&mut processes);
    processes.push(process);
    Snapshot { processes, blind: tree.is_empty() }
}

/// The shell that is the main process and, of those behind it, `told` alone, as long as both are there. One
/// whose parent has died is behind it no more.
///
/// This is looked at ten times a second for as long as a server drains, and costs the same whatever
/// else runs; a whole look would go through all connections there are, to find whose they are.
pub(super) fn at_told(main: Pid, told: Pid) -> Snapshot {
    let shell = procfs::stat(main).map(|stat| process(main, &stat)).filter(|process| process.shell);
    let waited_for = |stat: &Stat| !stat.has_ended() && is_behind(stat, main);
    let told = procfs::stat(told).filter(waited_for).map(|stat| process_by_stat(told, &stat));
    match shell.zip(told) {
        Some((shell, told)) => Snapshot { processes: vec![shell, told], blind: false },
        None => at_main(main),
    }
}

/// Whether it descends from `ancestor`.
fn is_behind(stat: &Stat, ancestor: Pid) -> bool {
    // Pids that are reused meanwhile could make a circle of it.
    const DEEPEST: usize = 64;
    let parents = successors(Some(stat.parent), |at| procfs::stat(*at).map(|stat| stat.parent));
    parents.take(DEEPEST).any(|parent| parent == ancestor)
}

/// Our own children that are alive.
pub(super) fn at_children(own_pid: Pid) -> Snapshot {
    let tree = tree();
    let mut processes: Vec<Process> =
        descendants(&tree, own_pid).iter().filter_map(|pid| Some(leftover(*pid, tree.get(pid)?))).collect();
    mark_listening(&mut processes);
    processes.retain(|process| process.parent == own_pid);
    // We are there ourselves.
    Snapshot { processes, blind: tree.is_empty() }
}

/// The descendants of `ancestor` that have not ended, by id and name.
pub(super) fn names_of_descendants(ancestor: Pid) -> Vec<(Pid, String)> {
    let tree = tree();
    let named = |pid: &Pid| Some((*pid, tree.get(pid)?.comm.clone()));
    descendants(&tree, ancestor).iter().filter_map(named).collect()
}

/// What the descendants of `ancestor` have done, in the order of their ids.
pub(super) fn work_of_descendants(ancestor: Pid) -> Vec<Work> {
    let tree = tree();
    let mut found: Vec<(Pid, &Stat)> =
        descendants(&tree, ancestor).into_iter().filter_map(|pid| Some((pid, tree.get(&pid)?))).collect();
    found.sort_unstable_by_key(|(pid, _)| *pid);
    let first = found.iter().map(|(_, stat)| stat.started).min().unwrap_or_default();
    let work = |(pid, stat): &(Pid, &Stat)| Work {
        pid: *pid,
        began: stat.started.saturating_sub(first),
        used: stat.used,
        runs: runs(stat) || stat.threads > 1 && procfs::threads(*pid).any(|thread| runs(&thread)),
    };
    found.iter().map(work).collect()
}

/// Whether it has the processor, or waits for that or for the disk.
fn runs(stat: &Stat) -> bool {
    matches!(stat.state, 'R' | 'D')
}

fn tree() -> Tree {
    let alive = |pid: Pid| procfs::stat(pid).filter(|stat| !stat.has_ended()).map(|stat| (pid, stat));
    procfs::pids().into_iter().filter_map(alive).collect()
}

fn descendants(tree: &Tree, ancestor: Pid) -> Vec<Pid> {
    let mut children: HashMap<Pid, Vec<Pid>> = HashMap::new();
    // Pids that were reused while the tree was read could make a circle of it.
    for (pid, stat) in tree.iter().filter(|(pid, _)| **pid != ancestor) {
        children.entry(stat.parent).or_default().push(*pid);
    }
    let mut found = Vec::new();
    let mut parents = vec![ancestor];
    while let Some(parent) = parents.pop() {
        let its_children = children.remove(&parent).unwrap_or_default();
        parents.extend(&its_children);
        found.extend(its_children);
    }
    found
}

/// All that its stat tells.
fn process_by_stat(pid: Pid, stat: &Stat) -> Process {
    Process {
        pid,
        parent: stat.parent,
        group: stat.group,
        comm: stat.comm.clone(),
        shell: false,
        caught: None,
        blocked: None,
        stdin_pipe: None,
        stdout_pipe: None,
        listens: false,
    }
}

fn process(pid: Pid, stat: &Stat) -> Process {
    let (caught, blocked) = procfs::caught_and_blocked(pid);
    let shell = procfs::command_line(pid).is_some_and(|(first, second)| is_shell(&first, &second));
    Process { shell, caught, blocked, ..process_by_stat(pid, stat) }
}

/// Thousands may be left behind, and while they are looked at none is reaped. What a process handles
/// matters only where there is a choice of signals.
fn leftover(pid: Pid, stat: &Stat) -> Process {
    let seen = process_by_stat(pid, stat);
    if programs::lookup(seen.program()).is_some() { process(pid, stat) } else { seen }
}

fn process_with_pipes(pid: Pid, stat: &Stat) -> Process {
    Process { stdin_pipe: procfs::pipe(pid, 0), stdout_pipe: procfs::pipe(pid, 1), ..process(pid, stat) }
}

/// Marks those that own a listening socket, or whose descendants do: a master may leave the ports to
/// its workers.
fn mark_listening(processes: &mut [Process]) {
    let listening = procfs::listening_sockets();
    if listening.is_empty() {
        return;
    }
    let owners: Vec<(Pid, Pid)> = processes
        .iter()
        .filter(|process| !listening.is_disjoint(&procfs::sockets(process.pid)))
        .map(|process| (process.pid, process.parent))
        .collect();
    for (owner, parent) in owners {
        let (mut at, mut parent) = (owner, parent);
        while let Some(process) = processes.iter_mut().find(|process| process.pid == at) {
            // Seen before: so were those above it.
            if std::mem::replace(&mut process.listens, true) {
                break;
            }
            at = parent;
            parent = processes.iter().find(|process| process.pid == at).map_or(0, |process| process.parent);
        }
    }
}

/// Whether these are the first words of a shell's command line. A script's show its interpreter.
fn is_shell(first: &[u8], second: &[u8]) -> bool {
    let first = String::from_utf8_lossy(first);
    // A login shell has a dash in front of its name.
    let name = Path::new(first.trim_start_matches('-')).file_name().and_then(|name| name.to_str());
    match name {
        Some("sh" | "dash" | "ash" | "bash") => true,
        Some("busybox") => matches!(second, b"sh" | b"ash"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::time::Duration;

    fn stat(comm: &str, parent: Pid, group: Pid) -> Stat {
        let (started, used) = (Duration::ZERO, Duration::ZERO);
        Stat { comm: comm.to_owned(), state: 'S', parent, group, threads: 1, started, used }
    }

    #[test]
    fn shells_are_known_by_the_first_word_of_their_command_line() {
        for (first, second, expected) in [
            ("sh", "-c", true),
            ("/bin/sh", "/entrypoint.sh", true),
            ("-bash", "", true),
            ("/usr/bin/dash", "", true),
            ("busybox", "ash", true),
            ("/bin/busybox", "sh", true),
            ("/bin/busybox", "httpd", false),
            ("nginx: master process nginx", "", false),
            ("/opt/sh/server", "", false),
            ("", "", false),
        ] {
            assert_eq!(is_shell(first.as_bytes(), second.as_bytes()), expected, "{first} {second}");
        }
    }

    #[test]
    fn descendants_are_found_once_each_and_after_their_parents() {
        let tree = |parents: &[(Pid, Pid)]| -> Tree {
            parents.iter().map(|(pid, parent)| (*pid, stat("app", *parent, 1))).collect()
        };
        let found = descendants(&tree(&[(1, 0), (7, 1), (8, 1), (20, 7), (21, 20), (30, 9), (9, 0)]), 1);
        let at = |pid| found.iter().position(|found| *found == pid);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(at(8).is_some() && at(7) < at(20) && at(20) < at(21), "{found:?}");
        // As pieced together while pids were reused.
        let mut circle = descendants(&tree(&[(1, 20), (7, 1), (20, 7), (8, 8)]), 1);
        circle.sort_unstable();
        assert_eq!(circle, [7, 20]);
    }

    #[test]
    fn what_a_leftover_handles_is_looked_up_where_it_decides_about_its_signal() {
        let own = crate::sys::process::own_pid();
        let named = |comm: &str| leftover(own, &stat(comm, 1, own));
        for known in ["nginx: worker pr", "php-fpm8.2"] {
            assert!(named(known).caught.is_some() && named(known).blocked.is_some(), "{known}");
        }
        assert_eq!(named("sleep").caught, None, "it is told TERM, whatever it handles");
    }

    #[test]
    fn a_plain_process_is_seen_alone_and_as_it_is() {
        let own = crate::sys::process::own_pid();
        let seen = at_main(own);
        let [process] = seen.processes.as_slice() else { panic!("seen: {seen:?}") };
        assert_eq!(process.pid, own);
        assert!(!process.shell && process.caught.is_some() && process.blocked.is_some());
        assert_eq!(at_main(0), Snapshot::default());
    }

    #[test]
    fn the_work_of_a_process_is_seen_to_grow_and_its_start_stays() {
        let mut worker = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let (own, pid) = (crate::sys::process::own_pid(), Pid::try_from(worker.id()).unwrap());
        let look = || work_of_descendants(own).into_iter().find(|work| work.pid == pid).unwrap();
        let first = look();
        let clock = crate::run::clock::Clock::start();
        let later = loop {
            let work = look();
            if work.used >= first.used + Duration::from_millis(30) || clock.now() > Duration::from_secs(60) {
                break work;
            }
        };
        worker.kill().unwrap();
        worker.wait().unwrap();
        assert!(later.used > first.used && later.began == first.began, "{first:?} {later:?}");
    }

    #[test]
    fn a_process_is_seen_to_run_while_its_first_thread_only_waits_for_another() {
        let server = "import threading\n\
                      def work():\n \
                      print(flush=True)\n \
                      while True: pass\n\
                      thread = threading.Thread(target=work)\n\
                      thread.start()\n\
                      thread.join()";
        let mut worker = std::process::Command::new("python3")
            .args(["-I", "-S", "-c", server])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Read::read_exact(worker.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let (own, pid) = (crate::sys::process::own_pid(), Pid::try_from(worker.id()).unwrap());
        while procfs::stat(pid).is_some_and(|stat| stat.state != 'S') {
            std::thread::yield_now();
        }
        let work = work_of_descendants(own).into_iter().find(|work| work.pid == pid);
        worker.kill().unwrap();
        worker.wait().unwrap();
        assert!(work.as_ref().is_some_and(|work| work.runs), "{work:?}");
    }

    #[test]
    fn one_that_a_shell_waits_for_is_seen_alone_as_long_as_both_are_there() {
        let two = "sleep 600 & sleep 600 & echo; wait";
        let mut shell =
            std::process::Command::new("sh").args(["-c", two]).stdout(std::process::Stdio::piped()).spawn().unwrap();
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let main = Pid::try_from(shell.id()).unwrap();
        let seen = |told| -> HashSet<Pid> { at_told(main, told).processes.iter().map(|seen| seen.pid).collect() };
        let children = names_of_descendants(main);
        let [(first, _), (second, _)] = children[..] else { panic!("{children:?}") };
        assert_eq!(seen(second), HashSet::from([main, second]));
        crate::sys::kill::process(first, crate::core::Signal::KILL).unwrap();
        while procfs::stat(first).is_some_and(|stat| !stat.has_ended()) {
            std::thread::yield_now();
        }
        assert_eq!(seen(first), HashSet::from([main, second]), "what is left");
        crate::sys::kill::process(second, crate::core::Signal::KILL).unwrap();
        shell.wait().unwrap();
        assert_eq!(seen(second), HashSet::new());
    }

    #[test]
    fn one_whose_parent_has_died_is_behind_the_shell_no_more() {
        let lines = "sh -c 'sleep 600 & echo; wait'; sleep 500; :";
        let mut shell = std::process::Command::new("sh")
            .args(["-c", lines])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        let main = Pid::try_from(shell.id()).unwrap();
        let behind = |pid: Pid| -> Vec<Pid> { names_of_descendants(pid).into_iter().map(|(pid, _)| pid).collect() };
        let [inner, told] = behind(main)[..] else { panic!("{:?}", names_of_descendants(main)) };
        let seen = || -> HashSet<Pid> { at_told(main, told).processes.iter().map(|seen| seen.pid).collect() };
        assert_eq!(seen(), HashSet::from([main, told]));
        crate::sys::kill::process(inner, crate::core::Signal::KILL).unwrap();
        let next = loop {
            if let [next] = behind(main)[..]
                && next != inner
            {
                break next;
            }
        };
        let after = seen();
        for pid in [told, main, next] {
            crate::sys::kill::process(pid, crate::core::Signal::KILL).unwrap();
        }
        shell.wait().unwrap();
        assert_eq!(after, HashSet::from([main, next]));
    }

    #[test]
    fn the_owner_of_a_port_is_known_behind_a_shell() {
        let server =
            "import socket, sys; s = socket.create_server(('127.0.0.1', 0)); print(1, flush=True); sys.stdin.read()";
        let mut child = std::process::Command::new("sh")
            .args(["-c", "python3 -c \"$0\"; :", server])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = [0; 2];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut line).unwrap();
        let seen = at_main(Pid::try_from(child.id()).unwrap());
        let server = seen.processes.iter().find(|process| process.comm.starts_with("python")).unwrap();
        assert!(server.listens && server.stdin_pipe.is_some(), "{seen:?}");
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
