use proptest::prelude::*;

use super::*;

fn names(library: &str, inputs: &[&str]) -> Vec<String> {
    library
        .parse::<Library>()
        .unwrap()
        .features(inputs)
        .unwrap()
        .names()
        .to_vec()
}

/// A library's terms are found in a union that has them in another order.
#[test]
fn terms_have_their_places_in_a_union() {
    let parse = |text: &str| text.parse::<Library>().unwrap();
    let (one, two) = (
        parse("polynomial(1)[y]"),
        parse("fourier(1)[x] + polynomial(2)"),
    );
    let union = Library::union([&one, &two, &one]);
    assert_eq!(
        union.to_string(),
        "polynomial(1)[y] + fourier(1)[x] + polynomial(2)"
    );
    assert_eq!(union.to_string().parse::<Library>().unwrap(), union);
    let features = union.features(&["x", "y"]).unwrap();
    let names = |library: &Library| -> Vec<String> {
        let places = library.places(&features).unwrap();
        places
            .iter()
            .map(|&j| features.names()[j].clone())
            .collect()
    };
    assert_eq!(names(&one), ["1", "y"]);
    assert_eq!(names(&two).len(), features.len());
    assert_eq!(Library::union([&one]), one);
    let other = parse("polynomial(3)").places(&features).unwrap_err();
    assert!(
        other.to_string().contains("the larger one lacks"),
        "{other}"
    );
}

#[test]
fn libraries_have_the_terms_they_say() {
    assert_eq!(
        names("polynomial(2)", &["a", "b"]),
        ["1", "a", "b", "a^2", "a b", "b^2"]
    );
    assert_eq!(
        names("polynomial(3, no-bias, no-interactions)", &["a", "b"]),
        ["a", "b", "a^2", "b^2", "a^3", "b^3"]
    );
    assert_eq!(
        names("polynomial(3, interactions-only)", &["a", "b", "c"]),
        ["1", "a", "b", "c", "a b", "a c", "b c", "a b c"]
    );
    assert_eq!(
        names("polynomial(5, interactions-only, no-bias)", &["a", "b"]),
        ["a", "b", "a b"]
    );
    // The published pairs on four inputs: of 28 products 9 are repetitions and 3 squares, and 12 of the 28 true ones are missing.
    let (every, published) = (
        names("fourier(1, interactions)", &["a", "b", "c", "d"]),
        names("fourier(1, published-interactions)", &["a", "b", "c", "d"]),
    );
    assert_eq!((every.len(), published.len()), (8 + 28, 8 + 28 - 9));
    assert_eq!(every.iter().filter(|n| !published.contains(n)).count(), 12);
    assert_eq!(published.iter().filter(|n| !every.contains(n)).count(), 3);
    assert_eq!(
        names("fourier(1, interactions)", &["a", "b"]),
        [
            "sin(1 a)",
            "cos(1 a)",
            "sin(1 b)",
            "cos(1 b)",
            "sin(1 a) cos(1 a)",
            "sin(1 a) sin(1 b)",
            "sin(1 a) cos(1 b)",
            "cos(1 a) sin(1 b)",
            "cos(1 a) cos(1 b)",
            "sin(1 b) cos(1 b)"
        ]
    );
    assert_eq!(
        names("fourier(2, no-cos)", &["a"]),
        ["sin(1 a)", "sin(2 a)"]
    );
    assert_eq!(
        names("functions(exp, reciprocal)", &["a", "b"]),
        ["exp(a)", "exp(b)", "a^-1", "b^-1"]
    );
    assert_eq!(
        names("polynomial(1)[b] * functions(tanh)[a]", &["a", "b"]),
        ["tanh(a)", "b tanh(a)"]
    );
    assert_eq!(
        names(
            "polynomial(1, no-bias) * polynomial(1, no-bias)",
            &["a", "b"]
        ),
        ["a^2", "a b", "b^2"]
    );
    assert_eq!(
        names("polynomial(2) without {a^2, 1}", &["a", "b"]),
        ["a", "b", "a b", "b^2"]
    );
    assert_eq!(
        names(
            "(polynomial(2) + fourier(1)) only {a b, sin(1 b)}",
            &["a", "b"]
        ),
        ["a b", "sin(1 b)"]
    );
    // The pendulum's libraries: 35 monomials, 8 + 28 Fourier terms on four inputs.
    assert_eq!(
        names(
            "polynomial(3) + fourier(1, interactions)",
            &["a", "b", "c", "d"]
        )
        .len(),
        35 + 36
    );
    let twice = "polynomial(1) + polynomial(2)"
        .parse::<Library>()
        .unwrap()
        .features(&["a"])
        .unwrap();
    assert_eq!(twice.names(), ["1", "a", "a^2"]);
    assert_eq!(twice.repeated(), ["1", "a"]);
}

#[test]
fn errors_mark_the_place_or_name_the_nearest() {
    let message = |text: &str| match text.parse::<Library>() {
        Err(error) => error.to_string(),
        Ok(library) => library.features(&["theta", "u"]).unwrap_err().to_string(),
    };
    for (text, words) in [
        ("polynom(3)", "`polynomial(…)`"),
        ("polynomial(3", "`)`"),
        ("polynomial()", "a degree, as in `polynomial(3)`"),
        ("polynomial(-3)", "a degree"),
        ("polynomial(2, bias)", "one of no-bias"),
        ("polynomial(2) fourier(1)", "the end"),
        ("functions(exp, gamma)", "a function: exp"),
        ("(polynomial(2) + fourier(1)", "`)`"),
        ("polynomial(2) without {", "`}`"),
        ("polynomial(2)[]", "a name"),
        ("", "`polynomial(…)`"),
        ("polynomial(2)[teta]", "the nearest is `theta`"),
        ("polynomial(2) only {theta^3}", "the nearest is `theta^2`"),
        ("polynomial(101)", "degree = 101"),
        ("polynomial(90)", "at most 10,000 terms"),
        ("fourier(0)", "frequencies = 0"),
        ("fourier(1, no-sin, no-cos)", "must be left"),
    ] {
        if text == "polynomial(90)" {
            assert!(
                "polynomial(90)"
                    .parse::<Library>()
                    .unwrap()
                    .features(&["a", "b", "c", "d"])
                    .unwrap_err()
                    .to_string()
                    .contains(words)
            );
            continue;
        }
        assert!(message(text).contains(words), "{text}: {}", message(text));
    }
    let many = vec!["fourier(1000)"; 600].join(" + ");
    assert!(message(&many).contains("at most 10,000 terms"));
    assert!(Features::from_terms(vec![], vec![Term::one()]).is_err());
    assert!(Features::from_terms(vec!["a".into()], vec![]).is_err());
    let power = Term::of(Factor::Power {
        input: 0,
        exponent: i32::MIN,
    });
    assert!(Features::from_terms(vec!["a".into()], vec![power]).is_err());
    // The place is marked under the text.
    let error = "polynomial(2) + furier(1)"
        .parse::<Library>()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("polynomial(2) + furier(1)\n                    ^"),
        "{error}"
    );
    assert!(
        Library::polynomial(2)
            .features(&["x", "x"])
            .unwrap_err()
            .to_string()
            .contains("its own name")
    );
    assert!(Library::polynomial(2).features::<&str>(&[]).is_err());
}

fn leaves() -> impl Strategy<Value = Library> {
    prop_oneof![
        (0..4u32, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
            |(degree, bias, interactions, interactions_only)| Library::Polynomial {
                degree,
                bias,
                interactions,
                interactions_only
            }
        ),
        (1..3u32, any::<bool>(), 0..3).prop_map(|(frequencies, sin, pairs)| {
            Library::Fourier {
                frequencies,
                sin,
                cos: true,
                pairs: [Pairs::None, Pairs::Every, Pairs::Published][pairs as usize],
            }
        }),
        prop::collection::vec(
            prop_oneof![
                Just(None),
                Just(Some(Function::Exp)),
                Just(Some(Function::Sign))
            ],
            1..3
        )
        .prop_map(|functions| Library::Functions { functions }),
    ]
}

/// Libraries that the inputs a, b and c have features of.
fn combinations() -> impl Strategy<Value = Library> {
    let some = |library: Library| match library.features(&["a", "b", "c"]) {
        Ok(_) => library,
        // A polynomial without terms, or too many products.
        Err(_) => Library::polynomial(1),
    };
    leaves()
        .prop_map(some)
        .prop_recursive(2, 6, 2, move |inner| {
            let names = prop::sample::subsequence(vec!["a", "b", "c"], 1..4);
            let names = names.prop_map(|names| names.into_iter().map(String::from).collect());
            prop_oneof![
                prop::collection::vec(inner.clone(), 2..3).prop_map(Library::Sum),
                prop::collection::vec(inner.clone(), 2..3).prop_map(Library::Product),
                (inner, names).prop_map(|(l, n): (_, Vec<String>)| Library::On(Box::new(l), n)),
            ]
            .prop_map(some)
        })
}

fn libraries() -> impl Strategy<Value = Library> {
    leaves().prop_recursive(3, 12, 3, |inner| {
        let names = prop::collection::vec("[a-z, \"{}\\\\]{1,6}", 1..3);
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Library::Sum),
            prop::collection::vec(inner.clone(), 2..3).prop_map(Library::Product),
            (inner.clone(), names.clone()).prop_map(|(l, n)| Library::On(Box::new(l), n)),
            (inner.clone(), names.clone()).prop_map(|(l, n)| Library::Only(Box::new(l), n)),
            (inner, names).prop_map(|(l, n)| Library::Without(Box::new(l), n)),
        ]
    })
}

proptest! {
    #![proptest_config(crate::testing::proptest_config(256))]

    #[test]
    fn text_is_read_as_it_is_written(library in libraries()) {
        let text = library.to_string();
        prop_assert_eq!(text.parse::<Library>().unwrap(), library, "{}", text);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,60}", bytes in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = text.parse::<Library>();
        let _ = String::from_utf8_lossy(&bytes).parse::<Library>();
    }

    #[test]
    fn nearly_right_text_is_read_or_refused(text in "(polynomial|fourier|functions|only|without|[(){}\\[\\],+* 0-9a\"-]){0,12}") {
        if let Ok(library) = text.parse::<Library>() {
            let _ = library.features(&["a", "b"]);
        }
    }

    /// Columns agree with the terms' own values, row by row.
    #[test]
    fn columns_agree_with_terms(library in combinations(), rows in 1..40usize, seed: u64) {
        let inputs = ["a", "b", "c"];
        let features = library.features(&inputs).unwrap();
        let mut rng = crate::rng::Stream::new(seed).at(0);
        let x: Vec<f64> = (0..rows * 3).map(|_| rng.normal()).collect();
        let values = features.evaluate(&x).unwrap();
        for (k, term) in features.terms().iter().enumerate() {
            for row in 0..rows {
                let want = term.apply(&[x[row], x[rows + row], x[2 * rows + row]]);
                let got = values[k * rows + row];
                prop_assert!(got == want || (got - want).abs() <= 1e-12 * (1.0 + want.abs()) || got.is_nan() && want.is_nan());
            }
        }
    }
}
