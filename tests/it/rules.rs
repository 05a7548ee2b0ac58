//! That no rule goes without an example of either kind: a deployment that breaks it and one that does not, for
//! each platform that it is about.

use crate::support::scenarios::folders;
use lameduck::check::rules::RULES;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// Which rules are about which platform, by the numbers of their ids. What Terraform and `CloudFormation` describe
/// is ECS.
const ABOUT: [(&str, &[u32]); 4] = [
    (
        "ecs",
        &[
            1, 2, 5, 6, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 20, 21, 22, 23, 25, 26, 27, 28, 29, 30, 33, 36, 37, 38,
            39, 40, 41, 43, 45, 47, 49,
        ],
    ),
    (
        "k8s",
        &[
            1, 2, 3, 4, 6, 8, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 38,
            39, 40, 41, 44, 45, 47, 49,
        ],
    ),
    (
        "compose",
        &[1, 4, 6, 7, 8, 15, 16, 18, 20, 21, 22, 23, 25, 26, 27, 28, 29, 30, 31, 33, 39, 40, 41, 43, 45, 47, 49],
    ),
    ("docker", &[1, 8, 15, 16, 20, 21, 22, 23, 25, 26, 27, 28, 29, 39, 40, 41, 43, 45, 49]),
];

#[test]
fn every_rule_is_broken_by_one_scenario_and_kept_by_another_of_each_platform_it_is_about() {
    if std::env::var_os("LAMEDUCK_BLESS").is_some() {
        return crate::support::skipped("the reports are being written");
    }
    let (mut broken, mut kept) = (BTreeSet::new(), BTreeSet::new());
    for scenario in folders("check") {
        let name = scenario.file_name().unwrap().to_string_lossy().into_owned();
        let platform = name.split('-').next().unwrap().to_owned();
        let report: Value =
            serde_json::from_str(&fs::read_to_string(scenario.join("expected/report.json")).unwrap()).unwrap();
        let rules = |key: &str| {
            let all = report[key].as_array().unwrap().iter();
            all.map(|one| one["rule"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
        };
        let (found, not_checked) = (rules("findings"), rules("not_checked"));
        // Only what a scenario is named after is kept in it on purpose.
        let named = RULES.iter().filter(|rule| name.contains(&rule.id.to_ascii_lowercase()));
        let holds = named.filter(|rule| !found.contains(rule.id) && !not_checked.contains(rule.id));
        kept.extend(holds.map(|rule| (platform.clone(), rule.id.to_owned())));
        broken.extend(found.iter().map(|id| (platform.clone(), id.clone())));
    }
    let mut missing = Vec::new();
    for (platform, numbers) in ABOUT {
        for id in numbers.iter().map(|number| format!("LD{number:03}")) {
            let key = (platform.to_owned(), id.clone());
            if !broken.contains(&key) {
                missing.push(format!("{platform}: none that breaks {id}"));
            }
            if !kept.contains(&key) {
                missing.push(format!("{platform}: none named after {id} that keeps it"));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    // What a scenario shows to be broken is in the list, and no rule is without a platform.
    let about: BTreeSet<(String, String)> = ABOUT
        .iter()
        .flat_map(|(platform, all)| all.iter().map(|n| ((*platform).to_owned(), format!("LD{n:03}"))))
        .collect();
    let of_platforms = broken.iter().filter(|(platform, _)| ABOUT.iter().any(|(known, _)| known == platform));
    assert_eq!(of_platforms.filter(|key| !about.contains(*key)).collect::<Vec<_>>(), Vec::<&_>::new());
    let homeless = RULES.iter().filter(|rule| !about.iter().any(|(_, id)| id == rule.id));
    assert_eq!(homeless.map(|rule| rule.id).collect::<Vec<_>>(), Vec::<&str>::new());
}
