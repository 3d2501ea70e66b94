//! Remembers containers: the id comes from a process's control groups, the image and the name from
//! the runtime, often only after a short-lived container is gone.

use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::text;
use crate::finding::{ContainerRef, Relative};

/// Containers remembered; a machine runs hundreds.
const MAX_CONTAINERS: usize = 4096;
/// A container id as runtimes write it into control group names.
const LONG_ID: usize = 64;
/// As people write it.
const SHORT_ID: usize = 12;
/// JSON beyond this is not read.
const MAX_JSON: usize = 4 << 20;

/// A container's short id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContainerId([u8; SHORT_ID]);

impl ContainerId {
    /// The id of the container that `cgroups` (NUL-separated `subsystem=path`) belong to: the last
    /// run of 64 hexadecimal digits in a path, as Docker, containerd, CRI-O and Podman have it.
    #[must_use]
    pub fn from_cgroups(cgroups: &[u8]) -> Option<Self> {
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let mut found = None;
        for path in cgroups.split(|byte| *byte == 0) {
            for run in path.split(|byte| !is_digit(byte)) {
                if run.len() == LONG_ID {
                    found = Self::from_short(&run[..SHORT_ID]);
                }
            }
            if found.is_some() {
                break;
            }
        }
        found
    }

    fn from_short(id: &[u8]) -> Option<Self> {
        id.get(..SHORT_ID)?.try_into().ok().map(Self)
    }

    /// As text.
    #[must_use]
    pub fn text(&self) -> String {
        text(&self.0)
    }
}

#[derive(Debug, Default)]
struct Container {
    name: Option<String>,
    image: Option<String>,
    runtime: Option<&'static str>,
    entry_point: Option<Relative>,
}

/// The containers seen.
#[derive(Debug, Default)]
pub struct Containers {
    known: FxHashMap<ContainerId, Container>,
}

#[derive(Deserialize)]
struct Envelope {
    container: Metadata,
}

/// The parts of a container event's JSON that matter here.
#[derive(Deserialize)]
struct Metadata {
    id: String,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    image: Option<String>,
    #[serde(default, rename = "type")]
    runtime: Option<u32>,
}

impl Containers {
    fn entry(&mut self, id: ContainerId) -> Option<&mut Container> {
        if self.known.len() >= MAX_CONTAINERS && !self.known.contains_key(&id) {
            return None;
        }
        Some(self.known.entry(id).or_default())
    }

    /// Takes over what a `container` event says in JSON. JSON that is not understood is passed
    /// over: the container keeps its id.
    pub fn describe_json(&mut self, json: &[u8]) {
        let json = json.strip_suffix(b"\0").unwrap_or(json);
        if json.len() > MAX_JSON {
            return;
        }
        if let Ok(Envelope { container }) = serde_json::from_slice(json) {
            let Metadata { id, name, image, runtime } = container;
            self.describe(id.as_bytes(), name, image, runtime);
        }
    }

    /// Takes over what is known of the container `id`; nothing replaces something.
    pub fn describe(&mut self, id: &[u8], name: Option<String>, image: Option<String>, runtime: Option<u32>) {
        let Some(container) = ContainerId::from_short(id).and_then(|id| self.entry(id)) else { return };
        let given =
            |text: Option<String>| text.filter(|text| !text.is_empty()).map(|text| super::text(text.as_bytes()));
        container.name = given(name).or(container.name.take());
        container.image = given(image).or(container.image.take());
        container.runtime = runtime.and_then(runtime_name).or(container.runtime);
    }

    /// Notes the first process of the container `id`.
    pub fn set_entry_point(&mut self, id: ContainerId, entry_point: Relative) {
        if let Some(container) = self.entry(id) {
            container.entry_point = Some(entry_point);
        }
    }

    /// The first process of the container `id`.
    #[must_use]
    pub fn entry_point(&self, id: ContainerId) -> Option<Relative> {
        self.known.get(&id)?.entry_point.clone()
    }

    /// Everything known of the container `id`.
    #[must_use]
    pub fn show(&self, id: ContainerId) -> ContainerRef {
        let known = self.known.get(&id);
        ContainerRef {
            id: id.text(),
            name: known.and_then(|container| container.name.clone()),
            image: known.and_then(|container| container.image.clone()),
            runtime: known.and_then(|container| container.runtime),
        }
    }

    /// All containers, in the order of their ids.
    #[must_use]
    pub fn all(&self) -> Vec<ContainerRef> {
        let mut ids: Vec<ContainerId> = self.ids().collect();
        ids.sort_unstable();
        ids.into_iter().map(|id| self.show(id)).collect()
    }

    /// The ids of all containers.
    pub fn ids(&self) -> impl Iterator<Item = ContainerId> {
        self.known.keys().copied()
    }

    /// Makes the container known, by its id alone if there is nothing else.
    pub fn note(&mut self, id: ContainerId) {
        _ = self.entry(id);
    }
}

/// `sinsp_container_type` (falcosecurity/libs, container_type.h).
fn runtime_name(number: u32) -> Option<&'static str> {
    match number {
        0 => Some("docker"),
        1 => Some("lxc"),
        2 => Some("libvirt-lxc"),
        3 => Some("mesos"),
        4 => Some("rkt"),
        6 => Some("cri"),
        7 => Some("containerd"),
        8 => Some("cri-o"),
        9 => Some("bpm"),
        11 => Some("podman"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "7272f37ebc5c56208fff78f04e126973b694d5b91158b6fbd7383fe6ae2e3dd5";

    fn id_in(cgroups: &str) -> Option<String> {
        ContainerId::from_cgroups(cgroups.as_bytes()).map(|id| id.text())
    }

    #[test]
    fn ids_are_found_as_each_runtime_writes_them() {
        for path in [
            format!("cpuset=/docker/{ID}"),
            format!("cpu=/\0cpuset=/system.slice/docker-{ID}.scope\0"),
            format!("memory=/kubepods/burstable/pod1f8c0a1e-0000-4a5e-9b0e-c0ffee000001/{ID}"),
            format!("memory=/kubepods.slice/kubepods-pod1.slice/cri-containerd-{ID}.scope"),
            format!("memory=/kubepods.slice/crio-{ID}.scope"),
            format!("memory=/machine.slice/libpod-{ID}.scope"),
        ] {
            assert_eq!(id_in(&path).as_deref(), Some("7272f37ebc5c"), "{path}");
        }
    }

    #[test]
    fn ordinary_groups_are_no_container() {
        assert_eq!(id_in("cpuset=/\0cpu=/system.slice/ssh.service\0"), None);
        assert_eq!(id_in(&format!("cpu=/{ID}0")), None, "65 digits");
        assert_eq!(id_in(""), None);
    }

    #[test]
    fn a_failed_lookup_does_not_wipe_what_is_known() {
        let mut containers = Containers::default();
        let json = |image: &str| {
            format!(r#"{{"container":{{"id":"7272f37ebc5c","image":"{image}","type":0,"labels":null}}}}"#)
        };
        containers.describe_json(json("redis:2.8.22").as_bytes());
        containers.describe_json(json("").as_bytes());
        containers.describe_json(b"{not json");
        let shown = &containers.all()[0];
        assert_eq!((shown.image.as_deref(), shown.runtime), (Some("redis:2.8.22"), Some("docker")));
    }
}
