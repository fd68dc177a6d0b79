//! The C spelling of the declarations in `ffi.rs`, as lines of a C file that only compiles when they match the headers.

use std::os::raw::{c_char, c_void};

/// A type with a name in C.
pub trait CType {
    fn spell() -> String;

    /// A pointer to it, which for an array isn't its name and a star.
    fn spell_pointer() -> String {
        Self::spell() + " *"
    }
}

macro_rules! spell {
    ($($type:ty = $c:literal;)*) => {
        $(impl CType for $type {
            fn spell() -> String {
                $c.into()
            }
        })*
    };
}

spell! {
    c_void = "void";
    c_char = "char";
    i32 = "int32_t";
    u32 = "uint32_t";
    u64 = "uint64_t";
    usize = "size_t";
    f32 = "float";
    f64 = "double";
    bool = "bool";
}

impl<T: CType> CType for *const T {
    fn spell() -> String {
        T::spell() + " const *"
    }
}

impl<T: CType> CType for *mut T {
    fn spell() -> String {
        T::spell_pointer()
    }
}

impl<T: CType, const COUNT: usize> CType for [T; COUNT] {
    fn spell() -> String {
        format!("{}[{}]", T::spell(), COUNT)
    }

    fn spell_pointer() -> String {
        format!("{} (*)[{}]", T::spell(), COUNT)
    }
}

pub fn size_line(c: &str, size: usize) -> String {
    format!("_Static_assert(sizeof({c}) == {size}, \"size of {c}\");")
}

pub fn field_line<T: CType>(c: &str, field: &str, offset: usize) -> String {
    let pointer = T::spell_pointer();
    format!(
        "_Static_assert(offsetof({c}, {field}) == {offset}, \"offset of {c}.{field}\");\n\
         _Static_assert(_Generic(&(({c} *)0)->{field}, {pointer}: 1, default: 0), \"type of {c}.{field}\");"
    )
}

pub fn function_line(name: &str, arguments: &[String], result: Option<&String>) -> String {
    let arguments = if arguments.is_empty() { "void".into() } else { arguments.join(", ") };
    let result = result.map_or("void", |result| result);
    format!("_Static_assert(_Generic({name}, {result} (*)({arguments}): 1, default: 0), \"prototype of {name}\");")
}
