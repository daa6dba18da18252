//! Vectors with names and ranges: what a policy sees, and what it chooses.

use ell0::rng::Generator;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// One component of a [`Space`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// Its least value; −∞ if it has none.
    #[serde(with = "below", default = "below::none")]
    pub low: f64,
    /// Its greatest value; ∞ if it has none.
    #[serde(with = "above", default = "above::none")]
    pub high: f64,
    /// Its typical size, for what is not bounded on both sides.
    pub scale: Option<f64>,
}

impl Component {
    /// A component between two bounds; either may be infinite.
    pub fn new(name: impl Into<String>, low: f64, high: f64) -> Self {
        Component {
            name: name.into(),
            low,
            high,
            scale: None,
        }
    }
}

/// A name and a range for each component of a vector. Ranges need be neither symmetric nor finite.
///
/// Sizes that are relative to a component (scaled inputs of a dictionary, noise on actions) are relative to [`Space::scale`] or [`Space::half`]:
///
/// | component | `scale` | `half` | as an action | drawn at random |
/// | --- | --- | --- | --- | --- |
/// | bounded on both sides | the larger of \|low\| and \|high\| | (high − low)/2 | (low + high)/2 + half·tanh(…) | uniform |
/// | otherwise | its stated size, or 1 | the same | scale·(…), brought to the bound there is | normal with deviation `scale`, brought to the bound there is |
///
/// ```
/// use ell0_control::environment::Space;
/// let space = Space::default().with("angle", -3.0, 1.0).unbounded("speed").sized(5.0).unbounded("load");
/// assert_eq!([0, 1, 2].map(|k| space.scale(k)), [3.0, 5.0, 1.0]);
/// assert_eq!(space.half(0), 2.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<Component>", into = "Vec<Component>")]
pub struct Space {
    names: Vec<String>,
    components: Vec<Component>,
}

impl From<Vec<Component>> for Space {
    fn from(components: Vec<Component>) -> Self {
        Space::new(components)
    }
}

impl From<Space> for Vec<Component> {
    fn from(space: Space) -> Self {
        space.components
    }
}

impl Space {
    /// A space of given components.
    #[must_use]
    pub fn new(components: Vec<Component>) -> Self {
        Space {
            names: components.iter().map(|c| c.name.clone()).collect(),
            components,
        }
    }

    /// Components that lie between ± a bound.
    #[must_use]
    pub fn symmetric(components: &[(&str, f64)]) -> Self {
        let component = |c: &(&str, f64)| Component::new(c.0, -c.1, c.1);
        Space::new(components.iter().map(component).collect())
    }

    /// The same with one more component, between two bounds; either may be infinite.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, low: f64, high: f64) -> Self {
        let component = Component::new(name, low, high);
        self.names.push(component.name.clone());
        self.components.push(component);
        self
    }

    /// The same with one more component, without bounds.
    #[must_use]
    pub fn unbounded(self, name: impl Into<String>) -> Self {
        self.with(name, f64::NEG_INFINITY, f64::INFINITY)
    }

    /// The same with the typical size of the component that was added last.
    #[must_use]
    pub fn sized(mut self, scale: f64) -> Self {
        if let Some(last) = self.components.last_mut() {
            last.scale = Some(scale);
        }
        self
    }

    /// Number of components.
    #[must_use]
    pub fn len(&self) -> usize {
        self.components.len()
    }

    /// Whether there is no component.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.components.is_empty()
    }

    /// Names of the components.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The components.
    #[must_use]
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Least value of a component.
    #[must_use]
    pub fn low(&self, k: usize) -> f64 {
        self.components[k].low
    }

    /// Greatest value of a component.
    #[must_use]
    pub fn high(&self, k: usize) -> f64 {
        self.components[k].high
    }

    /// Whether a component has a least and a greatest value.
    #[must_use]
    pub fn is_bounded(&self, k: usize) -> bool {
        self.low(k).is_finite() && self.high(k).is_finite()
    }

    /// How large a component typically is: the larger of |low| and |high| where both are finite and not both 0, else its stated size, else 1. Never 0, never infinite.
    #[must_use]
    pub fn scale(&self, k: usize) -> f64 {
        let largest = self.low(k).abs().max(self.high(k).abs());
        if largest.is_finite() && largest > 0.0 {
            largest
        } else {
            self.components[k].scale.unwrap_or(1.0)
        }
    }

    /// Half the range of a component that is bounded on both sides, else its scale: what noise on it is relative to.
    #[must_use]
    pub fn half(&self, k: usize) -> f64 {
        if self.is_bounded(k) {
            0.5 * (self.high(k) - self.low(k))
        } else {
            self.scale(k)
        }
    }

    /// The middle of the range of a component that is bounded on both sides, else 0.
    #[must_use]
    pub fn centre(&self, k: usize) -> f64 {
        if self.is_bounded(k) {
            0.5 * (self.low(k) + self.high(k))
        } else {
            0.0
        }
    }

    /// A value of a component, brought into its range.
    #[must_use]
    pub fn clamp(&self, k: usize, value: f64) -> f64 {
        // Unlike `f64::clamp`, this does not panic on bounds that nobody has checked.
        if value < self.low(k) {
            self.low(k)
        } else if value > self.high(k) {
            self.high(k)
        } else {
            value
        }
    }

    /// A random value of a component: uniform over a finite range, else normal with its scale, brought to the bound there is.
    pub fn draw(&self, k: usize, rng: &mut Generator) -> f64 {
        let (low, high) = (self.low(k), self.high(k));
        if self.is_bounded(k) {
            low + (high - low) * rng.uniform()
        } else {
            self.clamp(k, self.scale(k) * rng.normal())
        }
    }

    /// Whether it can be worked with: names that are there and differ, bounds in their order, sizes that are positive.
    pub fn check(&self) -> Result<()> {
        for (k, c) in self.components.iter().enumerate() {
            let wrong = |expected| Error::Space {
                component: c.name.clone(),
                low: c.low,
                high: c.high,
                expected,
            };
            if c.name.trim().is_empty() {
                return Err(wrong("every component needs a name"));
            }
            if self.names[..k].contains(&c.name) {
                return Err(wrong("no two components may have the same name"));
            }
            // Comparisons with NaN are false. Ranges are worked with in single precision, too.
            let wide = (c.high - c.low).is_infinite() && self.is_bounded(k);
            let ordered = c.low < c.high;
            if !ordered || wide || c.low == f64::INFINITY || c.high == f64::NEG_INFINITY {
                return Err(wrong(
                    "its least value must be below its greatest; no bound is written as ±infinity",
                ));
            }
            if self.is_bounded(k)
                && !((c.low as f32) < (c.high as f32) && self.scale(k) <= f64::from(f32::MAX))
            {
                return Err(wrong(
                    "its bounds must differ in single precision, and be finite there",
                ));
            }
            if c.scale
                .is_some_and(|s| !(s > 0.0 && (s as f32).is_finite() && s as f32 > 0.0))
            {
                return Err(wrong("its typical size must be positive and finite"));
            }
        }
        Ok(())
    }
}

/// JSON has no infinity: no bound is null.
macro_rules! bound {
    ($name:ident, $none:expr) => {
        mod $name {
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            pub fn none() -> f64 {
                $none
            }

            pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
                value.is_finite().then_some(*value).serialize(to)
            }

            pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
                Ok(Option::<f64>::deserialize(from)?.unwrap_or($none))
            }
        }
    };
}

bound!(below, f64::NEG_INFINITY);
bound!(above, f64::INFINITY);

#[cfg(test)]
mod tests {
    use ell0::rng::Stream;

    use super::*;

    #[test]
    fn sizes_are_never_zero_nor_infinite() {
        let space = Space::default()
            .with("a", -2.0, 1.0)
            .with("b", 0.0, f64::INFINITY)
            .sized(3.0)
            .unbounded("c");
        space.check().expect("a space");
        assert_eq!([0, 1, 2].map(|k| space.scale(k)), [2.0, 3.0, 1.0]);
        assert_eq!([0, 1, 2].map(|k| space.half(k)), [1.5, 3.0, 1.0]);
        assert_eq!([0, 1, 2].map(|k| space.centre(k)), [-0.5, 0.0, 0.0]);
        let mut rng = Stream::new(1).at(0);
        for _ in 0..1000 {
            assert!((-2.0..=1.0).contains(&space.draw(0, &mut rng)));
            assert!(space.draw(1, &mut rng) >= 0.0);
            assert!(space.draw(2, &mut rng).is_finite());
        }
        let text = serde_json::to_string(&space).expect("JSON");
        assert_eq!(space, serde_json::from_str(&text).expect("a space"));
    }

    #[test]
    fn nonsense_is_refused() {
        let nan = f64::NAN;
        for (name, low, high) in [
            ("", 0.0, 1.0),
            ("x", 1.0, 1.0),
            ("x", 1.0, -1.0),
            ("x", nan, 1.0),
            ("x", 0.0, nan),
            ("x", -1.7e308, 1.7e308),
            ("x", 1.0, 1.0 + 1e-12),
        ] {
            let space = Space::default().with(name, low, high);
            assert!(
                matches!(space.check(), Err(Error::Space { .. })),
                "{name} {low} {high}"
            );
        }
        let twice = Space::default().unbounded("x").unbounded("x");
        assert!(twice.check().is_err());
        assert!(Space::default().unbounded("x").sized(0.0).check().is_err());
    }
}
