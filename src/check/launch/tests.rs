//! What runs as PID 1, told from the words of many ways to start a server.

use super::*;
use crate::check::fact::Origin;
use crate::check::model::{Platform, Variable, Words};
use crate::check::source::{FileId, Source, Sources};
use std::time::Duration;

fn place() -> Place {
    let mut sources = Sources::default();
    let file: FileId = sources.add(Source::new("a".to_owned(), String::new()));
    Place { file, start: 0, end: 0 }
}

fn words(texts: &[&str]) -> Words {
    let words = texts.iter().map(|text| Word { text: (*text).to_owned(), place: place() }).collect();
    Words { words: Ok(words), place: place() }
}

fn container(entry: &[&str], environment: &[(&str, &str)]) -> Container {
    let mut container = Container::new(Platform::Docker, "web".to_owned(), place());
    container.entrypoint = Some(words(entry));
    container.environment = environment
        .iter()
        .map(|(name, value)| Variable {
            name: (*name).to_owned(),
            value: Ok((*value).to_owned()),
            place: place(),
            origin: Origin::Written,
        })
        .collect();
    container
}

fn kinds(entry: &[&str]) -> (Vec<FrontKind>, Option<String>) {
    let launch = read(&container(entry, &[]));
    (launch.front.unwrap().into_iter().map(|front| front.kind).collect(), launch.program.value.ok())
}

#[test]
fn what_stands_in_front_is_told_apart() {
    use FrontKind::{Exec, Init, Lameduck, Script, Shell, Transparent};
    let shell = |background, traps| Shell { background, traps };
    for (entry, front, program) in [
        (&["nginx", "-g", "daemon off;"] as &[_], vec![], "nginx"),
        (&["/sbin/tini", "-s", "-p", "TERM", "--", "node", "a.js"], vec![Init], "node"),
        (&["dumb-init", "-r", "15:3", "nginx"], vec![Init], "nginx"),
        (&["/lameduck", "--delay", "15s", "--", "/usr/sbin/nginx"], vec![Lameduck], "nginx"),
        (&["tini", "--", "lameduck", "nginx"], vec![Init, Lameduck], "nginx"),
        (&["sh", "-c", "exec nginx -g 'daemon off;'"], vec![Exec], "nginx"),
        (&["sh", "-c", "nginx"], vec![shell(false, false)], "nginx"),
        (&["bash", "-c", "nginx"], vec![Exec], "nginx"),
        (&["bash", "-c", "migrate && nginx"], vec![shell(false, false)], "nginx"),
        (&["/bin/sh", "-ec", "A=1 nginx & wait"], vec![shell(true, false)], "nginx"),
        (&["sh", "-c", "trap 'kill 1' TERM; nginx & wait"], vec![shell(true, true)], "nginx"),
        (&["sh", "-c", "nginx 2>&1 | tee log"], vec![shell(false, false)], "nginx"),
        (&["/bin/bash", "-o", "pipefail", "-c", "exec nginx"], vec![Exec], "nginx"),
        (&["busybox", "sh", "-c", "exec nginx"], vec![Exec], "nginx"),
        (&["sh", "-c", "cat > c <<EOF; b\ndon't\nexec d\nEOF\nexec nginx"], vec![Exec], "nginx"),
        (&["sh", "-c", "cat <<-'E' << \"F\" > c\n\t(\n\tE\nexec d\nF\nexec nginx"], vec![Exec], "nginx"),
        (&["sh", "-c", "cat <<< EOF\nexec nginx"], vec![Exec], "nginx"),
        (&["bash", "-c", "((a = 1 << 2))\nexec nginx"], vec![Exec], "nginx"),
        (&["sh", "-c", "cat <<EOF\nexec nginx"], vec![shell(false, false)], "cat"),
        (&["sh", "-c", "if a; then {\n exec b\n}\nfi\nfunction f {\n exec c\n}\nexec nginx"], vec![Exec], "nginx"),
        (
            &["sh", "-c", "if a; then if b; then c; fi; exec puma; fi; exec lameduck nginx"],
            vec![Exec, Lameduck],
            "nginx",
        ),
        (
            &["sh", "-c", "while a; do if b; then c; else if d; then e; fi; fi; exec puma; done; exec nginx"],
            vec![Exec],
            "nginx",
        ),
        (&["/docker-entrypoint.sh", "nginx"], vec![Script], "nginx"),
        (&["env", "-u", "X", "A=1", "gosu", "www", "nginx"], vec![Transparent, Transparent], "nginx"),
        (&["lameduck", "httpd-foreground"], vec![Lameduck], "httpd"),
        (&["bundle", "exec", "puma", "-p", "3000"], vec![Transparent], "puma"),
        (&["bundle", "install"], vec![], "bundle"),
        (&["python3.12", "-m", "gunicorn"], vec![Transparent], "gunicorn"),
        (&["python", "-m"], vec![], "python"),
        (&["sh", "-c", "exec lameduck -d 5 -- nginx"], vec![Exec, Lameduck], "nginx"),
        (&["sh", "-c", "exec \\\n  lameduck \\\n  -d 5 \\\n  nginx"], vec![Exec, Lameduck], "nginx"),
        (&["sh", "-c", "A='b c' exec nginx"], vec![Exec], "nginx"),
        (&["sh", "-c", "exec -a web nginx"], vec![Exec], "nginx"),
        (&["sh", "-c", "exec 2>&1 > /log; nginx"], vec![shell(false, false)], "nginx"),
        (&["sh", "-c", "exec > /log 2>&1 nginx"], vec![Exec], "nginx"),
        (&["sh", "-c", "exec nginx || echo never; sleep 1"], vec![Exec], "nginx"),
        (&["sh", "-c", "exec nginx -g 'a | b & c; d'"], vec![Exec], "nginx"),
        (&["sh", "-c", "# the server & co\nnginx"], vec![shell(false, false)], "nginx"),
        (&["sh", "-c", "nginx # & more"], vec![shell(false, false)], "nginx"),
        (&["sh", "-c", "A=$(a & b); exec nginx"], vec![Exec], "nginx"),
        (&["sh", "-c", "./agent & exec nginx"], vec![Exec], "nginx"),
        (&["sh", "-c", "./agent & nginx"], vec![shell(true, false)], "nginx"),
        (&["sh", "-c", "nginx & tail -f /dev/null"], vec![shell(true, false)], "nginx"),
        (&["sh", "-c", "if a; then\n  exec b\nfi\nexec nginx"], vec![Exec], "nginx"),
        (&["sh", "-c", "f() {\n exec b\n}\n(exec c); exec nginx"], vec![Exec], "nginx"),
        (&["sh", "-c", "while true; do nginx; done"], vec![shell(false, false)], "nginx"),
        (&["sh", "-c", "exec gosu www \"$@\"", "sh", "nginx", "-t"], vec![Exec, Transparent], "nginx"),
    ] {
        assert_eq!(kinds(entry), (front, Some(program.to_owned())), "{entry:?}");
    }
}

#[test]
fn flags_and_variables_are_read_as_lameduck_reads_them() {
    let container = container(
        &["/lameduck", "--delay=10s", "--", "nginx"],
        &[
            ("LAMEDUCK_DELAY", "99s"),
            ("LAMEDUCK_DRAIN_TIMEOUT", "20"),
            ("LAMEDUCK_QUIET", "3s"),
            ("LAMEDUCK_HEALTH_LISTEN", ":8086"),
        ],
    );
    let launch = read(&container);
    let settings = launch.lameduck().unwrap();
    assert_eq!(settings.delay.value, Ok(Duration::from_secs(10)));
    assert_eq!(settings.delay.name, "--delay");
    assert_eq!(settings.drain.value, Ok(Some(Duration::from_secs(20))));
    assert_eq!(settings.drain.name, "LAMEDUCK_DRAIN_TIMEOUT");
    assert_eq!(settings.health_port.as_ref().map(|port| port.value.clone()), Some(Ok(8086)));
    assert_eq!(settings.quiet.as_ref().map(|quiet| quiet.value.clone()), Some(Ok(Duration::from_secs(3))));
    assert!(!settings.linger.is_written());
}

#[test]
fn the_variables_of_a_script_are_put_in() {
    for (script, delay, program) in [
        ("exec lameduck -d $D nginx", Some(12), "nginx"),
        ("exec lameduck --delay=\"${D}\" nginx", Some(12), "nginx"),
        ("exec lameduck -d ${NONE:-8} nginx", Some(8), "nginx"),
        ("exec lameduck $FLAGS nginx", Some(3), "nginx"),
        ("D=9; exec lameduck -d $D nginx", Some(9), "nginx"),
        ("export LAMEDUCK_DELAY=4; exec lameduck nginx", Some(4), "nginx"),
        ("LAMEDUCK_DELAY=5 exec lameduck nginx", Some(5), "nginx"),
        ("LAMEDUCK_DELAY=5 ./migrate; exec lameduck nginx", Some(7), "nginx"),
        ("LAMEDUCK_DELAY=5; exec lameduck nginx", Some(5), "nginx"),
        ("D=5 exec lameduck nginx", Some(7), "nginx"),
        ("exec lameduck -- java $NONE -jar a", Some(7), "java"),
        ("exec lameduck java $NONE -jar a", Some(7), "java"),
        ("exec lameduck -d '$D' nginx", None, "nginx"),
        ("if a; then LAMEDUCK_DELAY=5; fi; exec lameduck nginx", None, "nginx"),
    ] {
        let environment = [("D", "12s"), ("FLAGS", "-d 3 -v"), ("LAMEDUCK_DELAY", "7")];
        let launch = read(&container(&["sh", "-c", script], &environment));
        let read = launch.lameduck().map(|settings| settings.delay.value.clone().ok());
        assert_eq!(read, Some(delay.map(Duration::from_secs)), "{script}");
        assert_eq!(launch.program.value, Ok(program.to_owned()), "{script}");
    }
}

#[test]
fn what_a_script_says_only_when_it_runs_is_not_known() {
    for (script, why) in [
        ("exec lameduck -d $NONE nginx", "$NONE has no default here"),
        ("exec lameduck $NONE nginx", "$NONE has no default here"),
        ("exec lameduck -d 5 $NONE", "$NONE has no default here"),
        ("exec lameduck -d $(cat f) nginx", "`$(…)` prints"),
        ("exec lameduck -d `cat f` nginx", "`$(…)` prints"),
        ("exec lameduck -d $1 nginx", "$1 is only known later"),
        ("if a; then exec lameduck -d 5 b; else exec lameduck -d 9 c; fi", "branches the script of web"),
        ("case $1 in\n a)\n exec lameduck a ;;\n b) exec lameduck b ;;\nesac", "branches the script of web"),
        (&"exec lameduck; ".repeat(5000), "longer than the 65536 bytes"),
        (&("A=1;".to_owned() + &"A=$A$A;".repeat(40) + "exec lameduck -d $A a"), "$A has no default here"),
        (&("A=-".to_owned() + &"v".repeat(3000) + "; exec lameduck " + &"$A ".repeat(99)), "come to more"),
    ] {
        let launch = read(&container(&["sh", "-c", script], &[]));
        assert!(launch.lameduck.as_ref().is_err_and(|told| told.contains(why)), "{script}: {:?}", launch.lameduck);
    }
}

#[test]
fn without_the_image_lameduck_is_known_only_by_its_variables() {
    let mut bare = container(&[], &[]);
    bare.entrypoint = None;
    assert!(read(&bare).lameduck.unwrap_err().contains("docker image inspect"));
    bare.environment = container(&[], &[("LAMEDUCK_DELAY", "15s")]).environment;
    let launch = read(&bare);
    assert!(launch.assumed.is_some() && launch.lameduck().is_some() && launch.front.is_err());
}
