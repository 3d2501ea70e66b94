//! Finds the plugin's C functions in the shared library, as Falco does.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::path::PathBuf;
use std::sync::OnceLock;

use falco_plugin::api::plugin_api;
use libloading::Library;

/// Cargo puts the library beside the tests that it builds it for, and one folder up from examples.
fn path() -> PathBuf {
    let program = std::env::current_exe().expect("the program has a path");
    let name = format!("{}scapscope{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let folder = program.parent().expect("a folder");
    let places = [folder.join(&name), folder.join("../deps").join(&name)];
    places
        .iter()
        .find(|place| place.exists())
        .unwrap_or_else(|| panic!("no {name} beside {}", program.display()))
        .into()
}

/// The functions of the library. It stays loaded, for the runner wants them for ever.
pub fn api() -> &'static plugin_api {
    static API: OnceLock<plugin_api> = OnceLock::new();
    API.get_or_init(|| {
        let path = path();
        // SAFETY: the library is the plugin that was built with this test; to load it runs nothing.
        let loaded = unsafe { Library::new(&path) };
        let library = Box::leak(Box::new(loaded.unwrap_or_else(|error| panic!("{}: {error}", path.display()))));
        // SAFETY: a table of optional functions, none of which is there.
        let mut api: plugin_api = unsafe { std::mem::zeroed() };
        // SAFETY: each name stands for a function of the type that the plugin API gives it.
        macro_rules! find {
            ($($place:expr => $name:literal),* $(,)?) => {
                $($place = Some(*unsafe { library.get(str::as_bytes($name)) }.expect($name));)*
            };
        }
        find!(
            api.get_required_api_version => "plugin_get_required_api_version",
            api.get_version => "plugin_get_version",
            api.get_name => "plugin_get_name",
            api.get_description => "plugin_get_description",
            api.get_contact => "plugin_get_contact",
            api.get_init_schema => "plugin_get_init_schema",
            api.init => "plugin_init",
            api.destroy => "plugin_destroy",
            api.get_last_error => "plugin_get_last_error",
            api.set_config => "plugin_set_config",
            api.get_metrics => "plugin_get_metrics",
            api.__bindgen_anon_2.get_extract_event_types => "plugin_get_extract_event_types",
            api.__bindgen_anon_2.get_extract_event_sources => "plugin_get_extract_event_sources",
            api.__bindgen_anon_2.get_fields => "plugin_get_fields",
            api.__bindgen_anon_2.extract_fields => "plugin_extract_fields",
            api.__bindgen_anon_3.get_parse_event_types => "plugin_get_parse_event_types",
            api.__bindgen_anon_3.get_parse_event_sources => "plugin_get_parse_event_sources",
            api.__bindgen_anon_3.parse_event => "plugin_parse_event",
        );
        api
    })
}

/// The plugin's own list of fields, as JSON.
pub fn fields() -> String {
    let list = api().__bindgen_anon_2.get_fields.expect("the function is there");
    // SAFETY: the plugin API says that this is a text that stays.
    unsafe { CStr::from_ptr(list()) }.to_string_lossy().into_owned()
}

/// The JSON schema that the plugin's configuration is held to.
pub fn config_schema() -> String {
    let schema = api().get_init_schema.expect("the function is there");
    let mut kind = 0;
    // SAFETY: the plugin API says that this is a text that stays.
    let text = unsafe { CStr::from_ptr(schema(&raw mut kind)) };
    assert_eq!(kind, falco_plugin::api::ss_plugin_schema_type_SS_PLUGIN_SCHEMA_JSON);
    text.to_string_lossy().into_owned()
}
