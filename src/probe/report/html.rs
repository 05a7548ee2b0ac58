//! The result as one page that needs nothing else: for a ticket, a mail, a wall.

use super::super::measured::{Measured, Result};
use super::super::outcome::Class;
use super::story::{self, About};
use super::text::moment;
use super::{count, headline, latency, svg};
use std::fmt::Write as _;

/// Lost requests that are listed one by one.
const MOST_LISTED: usize = 200;

const STYLE: &str = "
html { color-scheme: light dark; background: #fff; --sent: #c8d0d8; }
body { font: 15px/1.45 system-ui, 'DejaVu Sans', sans-serif; color: #1d2733; margin: 24px auto; max-width: 1120px; padding: 0 20px; }
h1 { font-size: 26px; margin: 0 0 4px; }
h1.lost { color: #b71c1c; } h1.kept { color: #1b6b3a; } h1.none { color: #8a5a00; }
h2 { font-size: 17px; margin: 28px 0 6px; }
p { margin: 4px 0; } .what { color: #4a5866; } code { font-family: ui-monospace, 'DejaVu Sans Mono', monospace; font-size: 13px; }
.warn { background: #fff3cd; border: 1px solid #e6c65c; padding: 8px 12px; margin: 12px 0; }
svg { width: 100%; height: auto; margin-top: 14px; }
svg text { font: 12px system-ui, 'DejaVu Sans', sans-serif; fill: #1d2733; }
svg .name { text-anchor: end; fill: #4a5866; } svg .mark { text-anchor: middle; fill: #4a5866; }
svg .axis { stroke: #8795a3; } svg .lane { stroke: #fff; } svg .moment { stroke-dasharray: 4 3; } svg .blue { stroke: #2f6db5; } svg .amber { stroke: #c98a00; }
table { border-collapse: collapse; margin: 6px 0; } th { text-align: left; font-weight: 600; color: #4a5866; }
td, th { padding: 2px 16px 2px 0; vertical-align: top; } td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.swatch { display: inline-block; width: 11px; height: 11px; margin-right: 6px; }
tr.loss td { color: #b71c1c; font-weight: 600; }
@media (prefers-color-scheme: dark) {
html { background: #14181d; --sent: #46525e; } body { color: #dbe2e9; }
h1.lost, tr.loss td { color: #ff7b72; } h1.kept { color: #5fcf8a; } h1.none { color: #e3b341; }
.what, th, svg .name, svg .mark { color: #9fb0c0; fill: #9fb0c0; } svg text { fill: #dbe2e9; } svg text.in { fill: #1d2733; }
svg .lane { stroke: #14181d; } .warn { background: #3a2f0b; border-color: #7d6517; }
}
";

/// Writes it.
#[must_use]
pub fn write(measured: &Measured) -> String {
    let result = measured.result();
    let (class, headline) = match &result {
        Result::NoMeasure(_) => ("none", "This is no measure".to_owned()),
        _ if measured.tally.all().lost() == 0 => ("kept", headline(measured)),
        _ => ("lost", headline(measured)),
    };
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{headline}</title>\n<style>{STYLE}</style>\n<h1 class=\"{class}\">{headline}</h1>\n"
    );
    about(&mut page, measured);
    if let Result::NoMeasure(reasons) = &result {
        for reason in reasons {
            let _ = writeln!(page, "<p class=\"warn\">This says nothing of the target: {}.</p>", escaped(reason));
        }
    }
    page += &svg::draw(measured);
    classes(&mut page, measured);
    happened(&mut page, measured);
    numbers(&mut page, measured);
    losses(&mut page, measured);
    page + "</html>\n"
}

/// Text as it may stand in a page.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn about(page: &mut String, measured: &Measured) {
    let urls: Vec<String> = measured.urls.iter().map(|url| format!("<code>{}</code>", escaped(url))).collect();
    let _ = write!(
        page,
        "<p class=\"what\">{} requests a second to {} for {:.0} s",
        measured.rate,
        urls.join(", "),
        measured.length.as_secs_f64()
    );
    if let Some(deploy) = &measured.deploy {
        let _ = write!(page, ", while <code>{}</code> ran", escaped(&deploy.command));
    }
    *page += ".</p>\n";
    if let Some((first, last)) = measured.tally.first_and_last {
        let _ = writeln!(page, "<p class=\"what\">First loss: {}.", moment(measured, first));
        let _ = writeln!(page, "<br>Last loss: {}.</p>", moment(measured, last));
    }
}

fn classes(page: &mut String, measured: &Measured) {
    let all = measured.tally.all();
    *page += "<h2>What became of the requests</h2>\n<table>\n";
    for class in Class::ALL.into_iter().filter(|class| *class == Class::Ok || all.of(*class) > 0) {
        let _ = writeln!(
            page,
            "<tr><td class=\"n\">{}</td><td><span class=\"swatch\" style=\"background:{}\"></span>{}</td><td>{}</td></tr>",
            count(all.of(class)),
            svg::colour(class),
            class.name(),
            class.meaning()
        );
    }
    for (number, what) in [
        (measured.tally.not_sent, "never sent: we ran out of something here"),
        (measured.unfinished, "still on their way when it was cut short"),
    ] {
        if number > 0 {
            let _ = writeln!(page, "<tr><td class=\"n\">{}</td><td>-</td><td>{what}</td></tr>", count(number));
        }
    }
    *page += "</table>\n";
    if measured.tally.lost_reused > 0 {
        let _ =
            writeln!(page, "<p>{} of the lost were on kept-alive connections.</p>", count(measured.tally.lost_reused));
    }
    if measured.urls.len() > 1 {
        *page += "<table>\n<tr><th>target</th><th>sent</th><th>lost</th></tr>\n";
        for (url, counts) in measured.urls.iter().zip(&measured.tally.targets) {
            let (url, sent, lost) = (escaped(url), count(counts.sent()), count(counts.lost()));
            let _ = writeln!(
                page,
                "<tr><td><code>{url}</code></td><td class=\"n\">{sent}</td><td class=\"n\">{lost}</td></tr>"
            );
        }
        *page += "</table>\n";
    }
}

fn happened(page: &mut String, measured: &Measured) {
    let story = story::tell(measured);
    if story.is_empty() {
        return;
    }
    *page += "<h2>What happened, in order</h2>\n<table>\n";
    for event in story {
        let class = if event.about == About::Loss { " class=\"loss\"" } else { "" };
        let at = measured.seconds(event.at);
        let _ = writeln!(page, "<tr{class}><td class=\"n\">{at:.2} s</td><td>{}</td></tr>", escaped(&event.text));
    }
    *page += "</table>\n";
}

fn numbers(page: &mut String, measured: &Measured) {
    let tally = &measured.tally;
    *page += "<h2>Latency</h2>\n<table>\n<tr><th></th><th>p50</th><th>p90</th><th>p99</th><th>max</th></tr>\n";
    for (name, histogram) in [
        ("answered requests", &tally.latency),
        ("answered requests to the slow path", &tally.slow_latency),
        ("how late we sent them ourselves", &tally.lateness),
    ] {
        if !histogram.is_empty() {
            let cells = [0.5, 0.9, 0.99, 1.0]
                .map(|at| format!("<td class=\"n\">{}</td>", latency(histogram.value_at_quantile(at))));
            let _ = writeln!(page, "<tr><td>{name}</td>{}</tr>", cells.concat());
        }
    }
    *page += "</table>\n";
}

fn losses(page: &mut String, measured: &Measured) {
    let losses = &measured.tally.losses;
    if losses.is_empty() {
        return;
    }
    let shown = losses.len().min(MOST_LISTED);
    let _ = writeln!(
        page,
        "<h2>The lost requests</h2>\n<p class=\"what\">{} of {}.</p>\n<table>\n<tr><th>sent</th><th>lost</th><th>phase</th>\
         <th>class</th><th>what</th><th>target</th><th></th></tr>",
        if losses.len() > shown { format!("The first {shown}") } else { "All".to_owned() },
        count(measured.tally.all().lost())
    );
    for loss in losses.iter().take(shown) {
        let kinds: Vec<&str> = [(loss.slow, "slow path"), (loss.reused, "kept-alive connection")]
            .iter()
            .filter(|(is, _)| *is)
            .map(|(_, kind)| *kind)
            .collect();
        let _ = writeln!(
            page,
            "<tr><td class=\"n\">{:.2} s</td><td class=\"n\">{:.2} s</td><td>{}</td><td>{}</td><td>{}</td><td><code>{}</code></td><td>{}</td></tr>",
            measured.seconds(loss.due),
            measured.seconds(loss.lost),
            measured.phases_at(loss.lost).join(", "),
            loss.class.name(),
            escaped(&loss.words),
            escaped(measured.urls.get(loss.target).map_or("", String::as_str)),
            kinds.join(", ")
        );
    }
    *page += "</table>\n";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::measured::tests::sample;

    #[test]
    fn whatever_it_is_told_stays_text() {
        let mut sample = sample();
        sample.urls = vec!["http://h/?a=<script>alert(1)</script>".to_owned()];
        sample.tally.losses[0].words = "a \"<b>\" & c".to_owned();
        let page = write(&sample);
        assert!(!page.contains("<script>") && !page.contains("<b>") && !page.contains("<web-1>"), "{page}");
        assert!(page.contains("stopping &lt;web-1&gt;") && page.contains("a &quot;&lt;b&gt;&quot; &amp; c"));
    }

    #[test]
    fn a_run_without_a_deploy_begins_at_zero() {
        let page = write(&Measured { zero: std::time::Duration::ZERO, deploy: None, ..sample() });
        assert!(page.contains(">0 s<") && !page.contains("-0 s"), "{page}");
    }

    #[test]
    fn what_is_no_measure_has_no_number_in_its_headline() {
        let mut sample = Measured { max_lost: 3, ..sample() };
        sample.tally.not_sent("no sockets");
        let page = write(&sample);
        assert!(page.contains("<h1 class=\"none\">This is no measure</h1>") && !page.contains("were lost ("), "{page}");
        let text = super::super::text::write(&sample);
        assert!(text.starts_with("\nTHIS IS NO MEASURE: 1 requests could not be sent"), "{text}");
        assert!(!text.contains("were lost ("), "{text}");
    }

    #[test]
    fn every_lost_request_is_drawn_and_told_with_its_phase() {
        let page = write(&sample());
        assert_eq!(page.matches("<circle").count(), 3);
        assert_eq!(page.matches("<td>draining</td><td>refused</td>").count(), 3);
        assert!(page.contains("3 of 100 requests were lost (3.00 %)."));
    }
}
