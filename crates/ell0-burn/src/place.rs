//! Where in a module a traversal is.

use burn::module::Reparameterization;

use crate::Gates;

/// The names of the fields on the way from the module to where a traversal is.
#[derive(Default)]
pub(crate) struct Place {
    names: Vec<String>,
}

impl Place {
    pub(crate) fn enter(&mut self, name: &str) {
        self.names.push(name.to_string());
    }

    pub(crate) fn exit(&mut self) {
        self.names.pop();
    }

    /// The path, as [`Gating`](crate::Gating) names parameters.
    pub(crate) fn path(&self) -> String {
        self.names.join(".")
    }

    /// The path of the gated parameter, if this is `field` of its gates.
    pub(crate) fn gated(&self, field: &str) -> Option<String> {
        match self.names.as_slice() {
            [path @ .., gates, last] if gates == Gates::NAME && last == field => {
                Some(path.join("."))
            }
            _ => None,
        }
    }
}
