//! The plugin's list of fields, which `scapscope rules lint` holds rules to.

mod rig;

use std::path::Path;

/// Written again by this test where UPDATE_FIELDS is set.
const LIST: &str = "../../analyzer/scapscope/rules/plugin_fields.json";

#[test]
fn the_list_that_rules_are_held_to_is_the_plugins_own() {
    let own: serde_json::Value = serde_json::from_str(&rig::fields()).expect("the list is JSON");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(LIST);
    if std::env::var_os("UPDATE_FIELDS").is_some() {
        let text = serde_json::to_string_pretty(&own).expect("it can be written");
        std::fs::write(&path, text + "\n").expect("it is written");
    }
    let kept = std::fs::read_to_string(&path).expect("the list is there");
    let kept: serde_json::Value = serde_json::from_str(&kept).expect("the list is JSON");
    assert_eq!(kept, own, "UPDATE_FIELDS=1 cargo test -p falco-plugin --test fields");
}

#[test]
fn each_field_says_what_it_means() {
    let own: serde_json::Value = serde_json::from_str(&rig::fields()).expect("the list is JSON");
    let fields = own.as_array().expect("a list");
    assert_eq!(fields.iter().map(|field| field["name"].as_str().expect("a name")).collect::<Vec<_>>(), rig::FIELDS);
    for field in fields {
        let name = field["name"].as_str().expect("a name");
        assert!(field["desc"].as_str().is_some_and(|text| text.len() > 40 && text.ends_with('.')), "{name}");
        assert_eq!(field["type"] == "bool", rig::EPISODES.contains(&name), "{name}");
    }
}
