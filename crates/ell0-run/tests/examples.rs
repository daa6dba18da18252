//! The programs under `examples/` run through.

#[path = "../../../examples/fit_in_memory.rs"]
mod fit_in_memory;
#[path = "../../../examples/mnist.rs"]
mod mnist;
#[path = "../../../examples/own_world.rs"]
mod own_world;

#[test]
fn a_table_in_memory_becomes_a_law_and_c() {
    let folder = tempfile::tempdir().expect("a folder");
    fit_in_memory::run(folder.path()).expect("it runs");
    let code = std::fs::read_to_string(folder.path().join("model.c")).expect("written");
    assert!(code.contains("predators"), "{code}");
}

#[test]
fn a_world_of_ones_own_is_trained_in_stopped_and_resumed() {
    let folder = tempfile::tempdir().expect("a folder");
    own_world::run(folder.path()).expect("it runs");
    let page = folder.path().join("training/report.html");
    let page = std::fs::read_to_string(page).expect("written");
    // Gates name their term and their action.
    for word in ["Policies for balloon", "burner", "fan", "drift"] {
        assert!(page.contains(word), "{word}");
    }
    assert!(folder.path().join("c/policy.c").exists());
}

#[test]
fn digits_take_the_place_of_mnist() {
    let found = mnist::run(None, 100, 1).expect("it runs");
    assert_eq!(found.len(), 2);
    for row in found {
        assert_eq!(row.units_before, [64, 300, 100, 10]);
        assert!(row.error() < 0.15, "{}", row.error());
    }
    // A folder without the files is named, and the file that is missing.
    let folder = tempfile::tempdir().expect("a folder");
    let said = mnist::run(Some(folder.path()), 1, 1).expect_err("no files");
    assert!(
        said.to_string().contains("train-images-idx3-ubyte"),
        "{said}"
    );
}
