//! Columns of NumPy as tables in memory: nothing is copied as a whole.

use std::{ops::Range, sync::Arc};

use ell0_data::frame::{Column, Frame};
use numpy::{
    Element, PyArray1, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyUntypedArrayMethods,
};
use pyo3::{
    Bound, Py, PyAny, PyResult,
    exceptions::{PyTypeError, PyValueError},
    types::PyAnyMethods,
};

/// A column of an array, which is kept alive as long as it is read.
struct View {
    first: *const f64,
    /// From one value to the next, in bytes.
    stride: isize,
    len: usize,
    _owner: Py<PyAny>,
}

// SAFETY: it is only read. The array is kept alive, and whoever writes to an array while it is fitted gets what he deserves: numbers of before or after, as with any NumPy function that lets others run.
#[allow(unsafe_code)]
unsafe impl Send for View {}
#[allow(unsafe_code)]
unsafe impl Sync for View {}

impl Column for View {
    fn len(&self) -> usize {
        self.len
    }

    fn append(&self, rows: Range<usize>, to: &mut Vec<f64>) {
        debug_assert!(rows.end <= self.len);
        let step = std::mem::size_of::<f64>() as isize;
        // SAFETY: rows lie within the array that `_owner` keeps; unaligned reads are allowed for.
        #[allow(unsafe_code)]
        unsafe {
            let first = self
                .first
                .cast::<u8>()
                .offset(rows.start as isize * self.stride);
            if self.stride == step && first.cast::<f64>().is_aligned() {
                to.extend_from_slice(std::slice::from_raw_parts(first.cast(), rows.len()));
            } else {
                to.extend(
                    (0..rows.len() as isize)
                        .map(|k| first.offset(k * self.stride).cast::<f64>().read_unaligned()),
                );
            }
        }
    }
}

fn doubles<'py>(name: &str, values: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray1<'py, f64>> {
    let array = values.cast::<PyArray1<f64>>();
    let array = array.map_err(|_| PyTypeError::new_err(format!("column `{name}`: no numbers")))?;
    Ok(array.try_readonly()?)
}

/// A column of numbers: an array of one dimension, of any layout; double precision is not copied.
pub fn column(name: &str, values: &Bound<PyAny>) -> PyResult<Arc<dyn Column>> {
    let wrong = |what: String| PyTypeError::new_err(format!("column `{name}`: {what}"));
    let Ok(array) = values.cast::<numpy::PyUntypedArray>() else {
        return Err(wrong("it must be a NumPy array".into()));
    };
    if array.ndim() != 1 {
        return Err(PyValueError::new_err(format!(
            "column `{name}` has {} dimensions; a column has one",
            array.ndim()
        )));
    }
    let kind = array.dtype();
    if kind.is_equiv_to(&f64::get_dtype(values.py())) {
        let typed = doubles(name, values)?;
        let view = typed.as_array();
        return Ok(Arc::new(View {
            first: view.as_ptr(),
            stride: view.strides()[0] * std::mem::size_of::<f64>() as isize,
            len: view.len(),
            _owner: values.clone().unbind(),
        }));
    }
    match kind.kind() {
        b'b' | b'i' | b'u' | b'f' => {
            let double = values.call_method1("astype", ("float64",))?;
            let typed = doubles(name, &double)?;
            Ok(Arc::new(typed.as_array().to_vec()))
        }
        b'c' => Err(wrong("it holds complex numbers; take real ones".into())),
        _ => Err(wrong(format!(
            "it holds {}; numbers are needed",
            kind.str()
                .map_or("something else".into(), |s| s.to_string())
        ))),
    }
}

/// Tables: each a name, if it has one, and named columns.
pub type Tables<'py> = Vec<(Option<String>, Vec<(String, Bound<'py, PyAny>)>)>;

/// Tables as frames.
pub fn frames(tables: Tables) -> PyResult<Vec<Frame>> {
    let frame = |(name, columns): (Option<String>, Vec<(String, Bound<PyAny>)>)| {
        let named = |(name, values): (String, Bound<PyAny>)| {
            let column = column(&name, &values)?;
            Ok((name, column))
        };
        let columns = columns
            .into_iter()
            .map(named)
            .collect::<PyResult<Vec<_>>>()?;
        let frame = Frame::of(columns);
        Ok(match name {
            Some(name) => frame.named(name),
            None => frame,
        })
    };
    tables.into_iter().map(frame).collect()
}
