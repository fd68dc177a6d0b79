//! Finds the C library that the crate links.
//!
//! In this order: the folder named by `UFORM_LIBRARY_DIR`; the tree the crate lies in, whose static library is built
//! with CMake into `OUT_DIR`; an installed library that pkg-config knows. The headers that belong to it are named in
//! `UFORM_INCLUDE_DIRECTORY` at compile time, so that tests can compare the crate's declarations with them.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{exit, Command};

/// What the static library needs, by the names pkg-config knows: NUMA nodes, and the decoders of pictures.
const LINKED_PACKAGES: [&str; 9] =
    ["hwloc", "libjpeg", "spng", "zlib", "libwebp", "libwebpdemux", "libavif", "libgif", "libtiff-4"];

/// Ends the build with one line that says what to do.
fn fail(message: &str) -> ! {
    eprintln!("error: uform: {}", message);
    exit(1)
}

/// Runs a program that has to succeed and answers what it wrote.
fn run(command: &mut Command, advice: &str) -> String {
    match command.output() {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        Ok(output) => fail(&format!(
            "{:?} failed ({}); {}\n{}{}",
            command,
            output.status,
            advice,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )),
        Err(error) => fail(&format!("{:?} did not start ({}); {}", command, error, advice)),
    }
}

/// Passes the flags of a pkg-config package on to the linker.
fn link_package(flags: &str) {
    for flag in flags.split_whitespace() {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={}", folder);
        } else if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={}", library);
        }
    }
}

/// Links a folder's libuform.a with what it needs itself.
fn link_static(folder: &Path) {
    println!("cargo:rustc-link-search=native={}", folder.display());
    println!("cargo:rustc-link-lib=static=uform");
    let advice = "the static library needs the development files of hwloc and of the decoders (Debian: pkg-config \
                  libhwloc-dev libjpeg62-turbo-dev libspng-dev zlib1g-dev libwebp-dev libavif-dev libgif-dev libtiff-dev)";
    link_package(&run(Command::new("pkg-config").arg("--libs").args(LINKED_PACKAGES), advice));
    println!("cargo:rustc-link-lib=pthread");
    println!("cargo:rustc-link-lib=m");
}

/// Links what a named folder holds: the static library if there is one, else the shared one.
fn link_folder(folder: &Path) {
    println!("cargo:rerun-if-changed={}", folder.join("libuform.a").display());
    if folder.join("libuform.a").exists() {
        link_static(folder);
    } else if folder.join("libuform.so").exists() {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=dylib=uform");
    } else {
        fail(&format!("UFORM_LIBRARY_DIR names {}, which holds neither libuform.a nor libuform.so", folder.display()));
    }
}

/// Builds the tree's static library.
fn build_tree(tree: &Path, output: &Path) {
    for part in ["CMakeLists.txt", "cmake", "include", "src"] {
        println!("cargo:rerun-if-changed={}", tree.join(part).display());
    }
    let advice = "building the C library takes cmake, ninja or make, a C compiler, pkg-config, hwloc and the decoders \
                  of pictures (Debian: cmake ninja-build gcc pkg-config libhwloc-dev libjpeg62-turbo-dev libspng-dev \
                  zlib1g-dev libwebp-dev libavif-dev libgif-dev libtiff-dev)";
    let folder = output.join("cmake");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(tree).arg("-B").arg(&folder).arg("-DCMAKE_BUILD_TYPE=Release");
    // CMake's own choice is make, which is not everywhere that ninja is.
    let has_ninja = Command::new("ninja").arg("--version").output().map_or(false, |done| done.status.success());
    if has_ninja && env::var_os("CMAKE_GENERATOR").is_none() {
        configure.args(["-G", "Ninja"]);
    }
    for part in ["CLI", "EXAMPLES", "TESTS"] {
        configure.arg(format!("-DUFORM_BUILD_{}=OFF", part));
    }
    run(&mut configure, advice);
    let jobs = env::var("NUM_JOBS").unwrap_or_else(|_| "1".into());
    let mut build = Command::new("cmake");
    build.arg("--build").arg(&folder).args(["--target", "uform_static", "--parallel", &jobs]);
    run(&mut build, advice);
    link_static(&folder);
}

/// The tree the crate lies in, unless the crate was taken out of it.
fn find_tree() -> Option<PathBuf> {
    let tree = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?).parent()?.to_path_buf();
    let is_tree = tree.join("CMakeLists.txt").exists() && tree.join("include/uform/uform.h").exists();
    is_tree.then_some(tree)
}

/// The folder of headers beside a library's folder: PREFIX/include for PREFIX/lib and PREFIX/lib/ARCHITECTURE.
fn find_headers(library: &Path) -> Option<PathBuf> {
    let mut candidates = library.ancestors().map(|folder| folder.join("include"));
    candidates.find(|folder| folder.join("uform/uform.h").exists())
}

fn main() {
    for variable in ["UFORM_LIBRARY_DIR", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={}", variable);
    }
    println!("cargo:rerun-if-changed=build.rs");
    let tree = find_tree();
    let headers;
    if let Some(folder) = env::var_os("UFORM_LIBRARY_DIR").map(PathBuf::from) {
        link_folder(&folder);
        headers = find_headers(&folder).or_else(|| tree.map(|tree| tree.join("include")));
    } else if let Some(tree) = tree {
        let output = env::var_os("OUT_DIR").map(PathBuf::from).unwrap_or_else(|| fail("cargo gave no OUT_DIR"));
        build_tree(&tree, &output);
        headers = Some(tree.join("include"));
    } else {
        let advice =
            "this copy of the crate is not inside the UForm tree, so the library has to be installed with its \
                      pkg-config file (see PKG_CONFIG_PATH), or UFORM_LIBRARY_DIR has to name the folder of libuform.a \
                      or libuform.so";
        let mut ask = Command::new("pkg-config");
        link_package(&run(ask.args(["--libs", "uform >= 4.0", "uform < 5"]), advice));
        let folder = run(Command::new("pkg-config").args(["--variable=includedir", "uform"]), advice);
        headers = Some(PathBuf::from(folder.trim()));
    }
    if Path::new("tests/page.rs").exists() {
        // A program that holds ForkUnion's functions, as that test does, has to export them to lend its pools.
        println!("cargo:rustc-link-arg-tests=-rdynamic");
    }
    let headers = headers.unwrap_or_default();
    println!("cargo:rustc-env=UFORM_INCLUDE_DIRECTORY={}", headers.display());
}
