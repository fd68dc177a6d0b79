//! The declarations of `ffi.rs` against the headers, by a C compiler.

use std::env;
use std::io::Write;
use std::process::{Command, Stdio};

/// Whether the C compiler takes these lines after the headers, and what it said.
fn compile(lines: &[String]) -> (bool, String) {
    let source = format!("#include <stddef.h>\n#include <uform/uform.h>\n{}\n", lines.join("\n"));
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut child = Command::new(compiler)
        .args(["-std=c11", "-fsyntax-only", "-x", "c", "-I", env!("UFORM_INCLUDE_DIRECTORY"), "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a C compiler");
    child.stdin.take().expect("a pipe").write_all(source.as_bytes()).expect("the compiler reads");
    let output = child.wait_with_output().expect("the compiler ends");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn declarations_match_the_headers() {
    let lines = [super::spell_structs(), super::spell_functions()].concat();
    let (compiled, words) = compile(&lines);
    assert!(compiled, "{}", words);
}

/// The comparison has to be able to fail: each of these lines is wrong in one way.
#[test]
fn wrong_declarations_are_noticed() {
    use super::spelling::{field_line, function_line, size_line};
    let wrong = [
        size_line("uform_text_t", 8),
        field_line::<usize>("uform_text_t", "length", 0),
        field_line::<i32>("uform_text_t", "length", 8),
        function_line("uform_executor_free", &["uform_model_t".into()], None),
        function_line("uform_executor_free", &["uform_executor_t".into()], Some(&"uform_status_t".into())),
    ];
    for line in wrong {
        assert!(!compile(std::slice::from_ref(&line)).0, "{}", line);
    }
}
