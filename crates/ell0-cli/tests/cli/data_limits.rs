//! Files that would fill the memory or never end: a sentence, in little memory.

use std::{fs::File, io::Write, os::unix::net::UnixListener};

use ell0_data::write::{TableWriter, Values};

use crate::fixture::{Desk, Done, model};

/// Runs `ell0` with two gigabytes of address space; what waits for somebody is ended.
fn narrow(desk: &Desk, line: &str) -> Done {
    let ell0 = env!("CARGO_BIN_EXE_ell0");
    let limited = format!("ulimit -v 2000000; exec timeout -s KILL 60 {ell0} {line}");
    desk.program("bash", &format!("-c \"{limited}\""))
}

/// Each `command line | words` fails so.
#[track_caller]
fn all_fail(desk: &Desk, cases: &str) {
    for case in cases.trim().lines() {
        let (line, words) = case.split_once('|').expect("a line | words");
        let shown = narrow(desk, line.trim()).fails(1, words.trim());
        assert_eq!(shown, "", "{line} prints");
    }
}

/// A file of so many zeros, which takes no room on the disk.
fn sparse(desk: &Desk, name: &str, bytes: u64) {
    let file = File::create(desk.path(name)).expect("a file");
    file.set_len(bytes).expect("sparse");
}

fn law() -> String {
    model("continuous", &["x"], &[("x", "-0.5*x")])
}

#[test]
fn rows_without_an_end_are_refused() {
    let desk = Desk::new().with("law.json", law());
    sparse(&desk, "zeros.csv", 6 << 30);
    // Half a gigabyte of one letter, in half a megabyte.
    sparse(&desk, "half.csv", 1 << 29);
    desk.run("gzip", "-1 half.csv");
    let mut open = File::create(desk.path("open.csv")).expect("a file");
    open.write_all(b"t,x\n0,1\n1,\"2\n").expect("written");
    open.set_len(6 << 30).expect("sparse");
    all_fail(
        &desk,
        "
        fit zeros.csv --states x | zeros.csv: line 1: this row goes on for more than 16 MiB, and no row may be longer
        stats zeros.csv --states x --out s | zeros.csv: line 1: this row goes on for more than 16 MiB
        predict law.json zeros.csv | zeros.csv: line 1: this row goes on
        score law.json zeros.csv | zeros.csv: line 1: this row goes on
        fit half.csv.gz --states x | half.csv.gz: line 1: this row goes on for more than 16 MiB
        fit open.csv --states x | open.csv: line 3: this row goes on for more than 16 MiB
    ",
    );
}

#[test]
fn columns_without_an_end_are_refused() {
    let names: Vec<String> = (0..70_000).map(|k| format!("x{k}")).collect();
    let desk = Desk::new().with("wide.csv", names.join(",") + "\n");
    all_fail(
        &desk,
        "fit wide.csv --states x1 --dt 1 | wide.csv: it has 70000 columns, and no more than 65536 are read",
    );
}

/// An array as NumPy saves it, with another shape than its data have.
fn npy(shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

#[test]
fn headers_are_compared_with_their_files() {
    let desk = Desk::new()
        .with("rows.npy", npy("(1000000000000,)", &[0; 80]))
        .with("product.npy", npy("(4611686018427387904, 8)", &[0; 80]))
        .with(
            "header.npy",
            [&b"\x93NUMPY\x02\x00"[..], &[255; 4]].concat(),
        );
    sparse(&desk, "zeros.npy", 6 << 30);
    sparse(&desk, "zeros.npz", 6 << 30);
    sparse(&desk, "zeros.parquet", 6 << 30);
    // The size of a page as its header claims it, two bytes behind the signature and its kind.
    let whole = parquet(&desk);
    let rest = 7
        + whole[7..]
            .iter()
            .position(|b| b & 0x80 == 0)
            .expect("an end")
        + 1;
    let page = [&whole[..7], &[0xfe, 0xff, 0xff, 0xff, 0x0f], &whole[rest..]].concat();
    desk.put("page.parquet", page);
    // The length of the description, in a file that is long enough for it.
    sparse(&desk, "end.parquet", 6 << 30);
    let end = File::options().append(true).open(desk.path("end.parquet"));
    let mut end = end.expect("a file");
    end.write_all(&0xffff_0000u32.to_le_bytes())
        .expect("written");
    end.write_all(b"PAR1").expect("written");
    all_fail(
        &desk,
        "
        fit rows.npy --states x --dt 1 | array `x` claims 1000000000000 rows of 1 columns, but there are only
        fit product.npy --states x_0 --dt 1 | claims
        fit header.npy --states x --dt 1 | the header of an array claims 4294967295 bytes, and at most 65536 are read
        fit zeros.npy --states x --dt 1 | zeros.npy: it cannot be read as an NPZ or NPY file
        fit zeros.npz --states x --dt 1 | zeros.npz: it cannot be read as an NPZ or NPY file
        fit zeros.parquet --states x --dt 1 | zeros.parquet: it cannot be read as a Parquet file
        fit page.parquet --states x --dt 1 | column `x`: a page claims 2.0 GiB in
        fit end.parquet --states x --dt 1 | its description claims 4.0 GiB of the 6.0 GiB there are; at most 64 MiB are read
    ",
    );
}

/// A small Parquet file with a column `x`.
fn parquet(desk: &Desk) -> Vec<u8> {
    let mut table = TableWriter::create(desk.path("x.parquet"), &["x".into()]).expect("a file");
    let values = (0..50).map(|k| (0.1 * f64::from(k)).exp()).collect();
    table.push(&[Values::Number(values)]).expect("rows");
    table.finish().expect("written");
    desk.bytes("x.parquet")
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let desk = Desk::new()
        .with("law.json", law())
        .with("d.csv", "t,x\n0,1\n");
    std::fs::create_dir(desk.path("folder")).expect("a folder");
    let _listener = UnixListener::bind(desk.path("socket")).expect("a socket");
    desk.run("mkfifo", "pipe pipe.json pipe.safetensors pipe.toml");
    std::fs::create_dir(desk.path("run")).expect("a folder");
    desk.run("mkfifo", "run/config.toml run/model.json");
    let pipe = "it is a pipe (a FIFO, or `<(…)` of a shell), and only files are read: write what it gives to a file first";
    let lines = "fit pipe --states x
        stats pipe --states x --out s
        predict law.json pipe
        score law.json pipe
        analyze law.json --data pipe
        show pipe.json
        show run
        export pipe.json --to c
        export pipe.safetensors --to c
        evaluate pipe.json --env pendulum
        rollout pipe.json --env pendulum --out r.csv
        analyze --policy -x --model pipe.json
        fit --config pipe.toml
        train --resume --out run
        report run";
    for line in lines.lines() {
        all_fail(&desk, &format!("{} | {pipe}", line.trim()));
    }
    all_fail(
        &desk,
        "
        fit /dev/zero --states x | cannot read /dev/zero: it is a device, and only files are read
        show /dev/zero | cannot read /dev/zero: it is a device
        fit socket --states x | cannot read socket: it is a socket, and only files are read
        show socket | cannot read socket: it is a socket
        fit folder --states x | cannot read folder: it is a folder, where a file is needed
        fit <(cat d.csv) --states x | it is a pipe (a FIFO, or `<(…)` of a shell)
    ",
    );
}

/// A file behind the standard input is read as before; a model may come through a pipe, measurements, which are read twice, may not.
#[test]
fn the_standard_input_is_read_where_it_was() {
    let rows: String = (0..60)
        .map(|k| format!("{},{}\n", 0.1 * f64::from(k), (-0.05 * f64::from(k)).exp()))
        .collect();
    let desk = Desk::new()
        .with("law.json", law())
        .with("d.csv", format!("t,x\n{rows}"));
    let ell0 = env!("CARGO_BIN_EXE_ell0");
    let shell = |line: &str| desk.program("bash", &format!("-c \"{line}\""));
    shell(&format!("{ell0} fit /dev/stdin --states x <d.csv")).shows("60 rows in 1 trajectory");
    shell(&format!("cat law.json | {ell0} show /dev/stdin")).shows("x' = -0.5*x");
    shell(&format!("cat d.csv | {ell0} fit /dev/stdin --states x")).fails(1, "it is a pipe");
    shell(&format!("{ell0} show /dev/stdin </dev/zero"))
        .fails(1, "it goes on for more than 256 MiB");
}

#[test]
fn files_of_absurd_size_are_not_read() {
    let desk = Desk::new().with("d.csv", "t,x\n0,1\n");
    for name in ["huge.json", "huge.stats", "huge.toml", "huge.safetensors"] {
        sparse(&desk, name, 6 << 30);
    }
    all_fail(
        &desk,
        "
        show huge.json | cannot read huge.json: it has 6 GiB, and files of this kind are read up to 256 MiB
        predict huge.json d.csv | cannot read huge.json: it has 6 GiB
        simulate huge.json --initial x=1 --duration 1 | cannot read huge.json: it has 6 GiB
        analyze --policy -x --model huge.json | cannot read huge.json: it has 6 GiB
        fit huge.stats | cannot read huge.stats: it has 6 GiB, and files of this kind are read up to 256 MiB
        fit --config huge.toml | cannot read huge.toml: it has 6 GiB
        export huge.safetensors --to c | cannot read huge.safetensors: it has 6 GiB, and files of this kind are read up to 1 GiB
    ",
    );
}
