//! Names of things, as types of their own, so that no signature takes a bare number.

use std::fmt;

/// The manager's id of an instance, given when it registers. Opaque text: nothing promises that it is a UUID.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstanceUuid(String);

/// Bytes of an id. A UUID has 36.
const UUID_BYTES_MAX: usize = 64;

impl InstanceUuid {
    /// `None` for the empty text that the manager writes on `loading` rows, and for what no manager gives out: it makes each of them
    /// itself (a random UUID), so anything but letters, digits, `-`, `_`, `.` and `:` is somebody's attempt. An id stands in paths,
    /// commands and labels, and needs no quotes there.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':');
        let is_id = (1..=UUID_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_plain) && !text.starts_with(['-', '.']);
        is_id.then_some(Self(text))
    }

    /// The id as the manager wrote it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for InstanceUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One name for a manager on this machine: `http://localhost:1235`, `http://[::1]:1235` and `http://127.0.0.1:1235` are the same
/// fleet. Any other address is its own name.
pub fn manager_name(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let is_this_machine = |host: &&str| {
        let after = rest.get(host.len()..).unwrap_or_default();
        let begins = rest.get(..host.len()).is_some_and(|start| start.eq_ignore_ascii_case(host));
        begins && (after.is_empty() || after.starts_with([':', '/', ' ']))
    };
    match ["localhost", "127.0.0.1", "[::1]"].iter().find(|host| is_this_machine(host)) {
        Some(host) => format!("{scheme}://127.0.0.1{}", &rest[host.len()..]),
        None => address.to_owned(),
    }
}

macro_rules! numeric_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(transparent)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

numeric_id!(
    /// vast.ai's number of a rented instance (its contract).
    VastId
);
numeric_id!(
    /// vast.ai's number of a physical machine.
    MachineId
);
numeric_id!(
    /// vast.ai's number of the account that offers a machine.
    HostId
);
numeric_id!(
    /// Dwell's own number of an instance: stays the same when the instance registers and its row changes key.
    Key
);

/// The vast.ai number inside a label of the form `C.<vast_id>`, which is how the manager matches its rows to vast.ai.
pub(crate) fn vast_id_of_label(label: &str) -> Option<VastId> {
    let digits = label.strip_prefix("C.")?;
    (!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())).then(|| digits.parse().ok().map(VastId))?
}
