//! Names that any language takes, and text that no comment or string stumbles over.

use crate::error::{Error, Result};

/// Words of C and C++, of Rust, of Python and of MATLAB, functions that the generated code calls, and names of its own. In lower case: C's constants are written in upper case, so
/// names that differ in case alone would meet there.
const RESERVED: &str = "
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl concept const
    const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not
    not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return
    short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try
    typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq
    assert huge_val infinity isfinite isinf isnan isnormal linux nan null signbit fpclassify unix inf
    char8_t char16_t char32_t co_await co_return co_yield
    huge_valf huge_vall i386 math_errhandling math_errno math_errexcept maxfloat snan snanf snanl
    fp_nan fp_infinite fp_zero fp_subnormal fp_normal fp_fast_fma fp_fast_fmaf fp_fast_fmal fp_ilogb0 fp_ilogbnan
    rand_max eof bufsiz exit_success exit_failure mb_cur_max fopen_max filename_max seek_set seek_cur seek_end
    m_e m_log2e m_log10e m_ln2 m_ln10 m_pi m_pi_2 m_pi_4 m_1_pi m_2_pi m_2_sqrtpi m_sqrt2 m_sqrt1_2
    cosf expf fabsf logf powf sinf sqrtf tanhf expm1f
    abstract as async await become box crate dyn f32 f64 final fn gen i32 impl in let loop macro macro_rules match
    mod move mut none ok err some override priv pub raw ref self str super trait type unsafe unsized use usize vec
    where yield
    def del elif except finally from global import is lambda len nonlocal pass print raise range valueerror with
    ans classdef elseif end endfunction error eps function otherwise parfor persistent pi size spmd zeros
    end_try_catch end_unwind_protect endclassdef endenumeration endevents endfor endif endmethods endparfor
    endproperties endspmd endswitch endwhile until unwind_protect unwind_protect_cleanup
    abs acos asin atan cos exp expm1 fabs log max min pow sign sin sqrt tanh elu relu
    expressions input inputs libm main math matlab np numpy output outputs power printf sp
    sympy real_log real_sqrt real_power";

/// Functions of C's libraries and names inside the generated code: fine for a variable, which may hide them, but not for the function itself.
const FUNCTIONS: &str = "
    abort acosh asinh atan2 atanh atof atoi bcmp calloc cbrt ceil copysign cosh div drem erf erfc exit exp2 fdim
    floor fma fmax fmin fmod free frexp gamma hypot ilogb index j0 j1 jn labs ldexp lgamma llrint llround log10
    log1p log2 logb lrint lround malloc memcpy memset modf nearbyint nextafter nexttoward puts rand read realloc
    remainder remove rename remquo rint round scalb scalbn signgam significand sinh strlen system tan tgamma trunc
    write y0 y1 yn
    broken evaluate layer p tests want wrong";

/// No language takes longer names than 63 characters; a number may have to follow.
const LONGEST: usize = 48;

/// `power_3` and the like are helpers of the generated code, `layer_0` the layers of a network, `weights_0` theirs.
fn is_helper(word: &str) -> bool {
    word.split_once('_').is_some_and(|(head, tail)| {
        matches!(head, "power" | "layer" | "weights" | "biases" | "state")
            && tail
                .trim_start_matches('m')
                .bytes()
                .all(|b| b.is_ascii_digit())
    })
}

fn is_in(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|w| w == word)
}

fn is_reserved(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    is_in(RESERVED, &lower) || is_helper(&lower)
}

/// Checks the name of the function: a wrong one is refused and not mended, for files are named after it.
pub(super) fn check_function(name: &str) -> Result<()> {
    let plain = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.len() <= LONGEST;
    if plain && !is_reserved(name) && !is_in(FUNCTIONS, name) {
        return Ok(());
    }
    let suggestion = plain_word(name);
    let suggestion = if is_reserved(&suggestion) || is_in(FUNCTIONS, &suggestion) {
        format!("{suggestion}_model")
    } else {
        suggestion
    };
    Err(Error::parameter(
        "name",
        format!("`{name}`"),
        format!(
            "a letter, then letters, digits and _, at most {LONGEST}, and no word that has a meaning in C, Rust, Python or MATLAB; for example `{suggestion}`"
        ),
    ))
}

/// Identifiers for names: ASCII, each different from all others even in upper case, none with a meaning of its own.
pub(super) fn identifiers(names: &[String], function: &str) -> Vec<String> {
    // The header of C defines constants that begin so: `MODEL_IN_V`, `MODEL_INPUTS`, `MODEL_H`.
    let constants = function.to_ascii_uppercase() + "_";
    let mut used = vec![function.to_ascii_lowercase()];
    let mut all = Vec::new();
    for name in names {
        let mut word = plain_word(name);
        if is_reserved(&word) {
            word.push('_');
        }
        if word.starts_with(&constants) {
            word = format!("v_{word}");
        }
        let mut unique = word.clone();
        let mut number = 2;
        while used.contains(&unique.to_ascii_lowercase()) {
            unique = format!("{}_{number}", word.trim_end_matches('_'));
            number += 1;
        }
        used.push(unique.to_ascii_lowercase());
        all.push(unique);
    }
    all
}

/// The name with Greek letters spelt out and `_` for what is neither letter nor digit.
fn plain_word(name: &str) -> String {
    let mut word = String::new();
    for c in name.chars() {
        match greek(c) {
            Some(letter) => word.push_str(letter),
            None if c.is_ascii_alphanumeric() => word.push(c),
            // Two in a row, or one at the front, are the C compiler's own.
            None if !word.is_empty() && !word.ends_with('_') => word.push('_'),
            None => {}
        }
        if word.len() >= LONGEST {
            word.truncate(LONGEST);
            break;
        }
    }
    let word = word.trim_end_matches('_');
    if word.starts_with(|c: char| c.is_ascii_alphabetic()) {
        word.to_string()
    } else {
        format!("v{word}")
    }
}

fn greek(c: char) -> Option<&'static str> {
    const LETTERS: [&str; 25] = [
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
        "lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "sigma", "sigma", "tau", "upsilon",
        "phi", "chi", "psi", "omega",
    ];
    const CAPITALS: [&str; 25] = [
        "Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Eta", "Theta", "Iota", "Kappa",
        "Lambda", "Mu", "Nu", "Xi", "Omicron", "Pi", "Rho", "Sigma", "Sigma", "Tau", "Upsilon",
        "Phi", "Chi", "Psi", "Omega",
    ];
    let from = |first: char, letters: &[&'static str]| {
        let at = u32::from(c).checked_sub(u32::from(first))?;
        letters.get(at as usize).copied()
    };
    from('α', &LETTERS).or_else(|| from('Α', &CAPITALS))
}

/// Text for a comment in any of the languages: on one line, without anything that could end it or, like C's trigraphs, become something else.
pub(super) fn comment(text: &str) -> String {
    let mut safe = String::new();
    for c in text.chars() {
        let ends_comment = c == '/' && safe.ends_with('*') || c == '*' && safe.ends_with('/');
        let plain = c.is_alphanumeric()
            || c == ' '
            || c.is_ascii_punctuation() && !matches!(c, '\\' | '"' | '?');
        if plain && !ends_comment {
            safe.push(c);
        } else {
            safe += &format!("<U+{:04X}>", u32::from(c));
        }
    }
    safe
}

/// A string of Python: ASCII, everything else escaped.
pub(super) fn python_string(text: &str) -> String {
    let escape = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        ' '..='~' => c.to_string(),
        c if u32::from(c) <= 0xffff => format!("\\u{:04x}", u32::from(c)),
        c => format!("\\U{:08x}", u32::from(c)),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

/// A string of Rust: ASCII, everything else escaped.
pub(super) fn rust_string(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}
