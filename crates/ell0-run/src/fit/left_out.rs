//! Measurements that were left out, in words.

use ell0::wording::shown;
use ell0_data::{blemishes::Spike, repeats::Repeats};

use super::{Discovery, Outlier};

/// Values and stretches that are told one by one.
const TOLD: usize = 3;

impl Discovery {
    /// What is no measurement and was left out before anything else, a sentence each: values far off their neighbours, rows far off all others, stretches in which a state stands still.
    #[must_use]
    pub fn blemishes_told(&self) -> Vec<String> {
        let Some(blemishes) = &self.data.blemishes else {
            return Vec::new();
        };
        let name = |state: usize| {
            let equation = self.equations.get(state);
            equation.map_or(String::new(), |e| e.target.clone())
        };
        let outliers = |spikes: &[Spike]| -> Vec<Outlier> {
            let each = spikes.iter().map(|spike| Outlier {
                place: spike.place.clone(),
                state: name(spike.state),
                value: spike.value,
                expected: spike.expected,
            });
            each.collect()
        };
        let still: u64 = blemishes.still.iter().map(|s| s.rows).sum();
        let all = blemishes.values.saturating_sub(still);
        // Rows stand by themselves, or beside neighbours.
        let values = match blemishes.astray.is_empty() {
            true => sentence(all, None, &outliers(&blemishes.spikes)),
            false => sentence(all, Some("the other rows"), &outliers(&blemishes.astray)),
        };
        let mut told: Vec<String> = values.into_iter().collect();
        told.extend(blemishes.still.iter().take(TOLD).map(|still| {
            format!(
                "{} stands still for {} rows, from {} on: these rows were left out",
                name(still.state),
                still.rows,
                still.place
            )
        }));
        let more = blemishes.still.len().saturating_sub(TOLD);
        if more > 0 {
            told.push(format!(
                "and {more} more stretches in which a state stands still"
            ));
        }
        told
    }

    /// States that repeat values although they are noisy, a sentence each.
    #[must_use]
    pub fn repeats_told(&self) -> Vec<String> {
        let told = |repeats: &Repeats| {
            let Repeats {
                rows, of, place, ..
            } = repeats;
            let target = self.equations.get(repeats.state);
            let name = target.map_or(String::new(), |e| shown(&e.target));
            let how = match repeats.every {
                Some(every) => format!("each value stands for {every} rows, sampled and held"),
                None => format!("the first is {place}; a logger that kept its last value, perhaps"),
            };
            format!(
                "{name} has exactly the value of the row before in {rows} of {of} rows, although it changes otherwise ({how}): these rows are no measurements of their own, they pull coefficients away and make intervals too narrow"
            )
        };
        self.data.repeats.iter().map(told).collect()
    }

    /// What to beware of in the data of a law, a sentence each: values that were held, columns and terms that are combinations of others.
    #[must_use]
    pub fn cautions_told(&self) -> Vec<String> {
        let repeats = self.repeats_told().into_iter();
        repeats.chain(self.relations_told()).collect()
    }

    /// Measurements that were left out because they are far off the law, in a sentence.
    #[must_use]
    pub fn outliers_told(&self) -> Option<String> {
        let judgement = self.judgement.as_ref()?;
        let all = judgement.outliers as u64;
        sentence(all, Some("the law"), &judgement.left_out)
    }
}

impl Discovery {
    /// That the search was ended by its bound, in a sentence.
    #[must_use]
    pub fn ended_told(&self) -> Option<String> {
        self.ended.then(|| {
            "The search for a law was ended by its bound of work before it was done: this is the best law so far, and a better one may be there. A library of fewer terms, or fewer states at once, take less work".into()
        })
    }
}

/// So many values are far off something, or their neighbours.
fn sentence(all: u64, what: Option<&str>, outliers: &[Outlier]) -> Option<String> {
    if all == 0 {
        return None;
    }
    let one = |o: &Outlier| {
        let Outlier {
            place,
            state,
            value,
            expected,
        } = o;
        format!("{state} = {value} in {place}, where {expected:.4} is expected")
    };
    let mut told: Vec<String> = outliers.iter().take(TOLD).map(one).collect();
    let more = all as usize - told.len().min(all as usize);
    if more > 0 {
        told.push(format!("and {more} more"));
    }
    let (is, of, was) = match all {
        1 => ("value is", "its", "it was"),
        _ => ("values are", "their", "they were"),
    };
    let what = what.map_or_else(|| format!("{of} neighbours"), str::to_string);
    let told = told.join("; ");
    Some(format!(
        "{all} {is} so far off {what} that {was} left out: {told}"
    ))
}
