//! Tells whether any text of a value has a secret, without writing the value.

use super::Redactor;
use serde::ser::{self, Serialize, Serializer};
use std::fmt;

impl Redactor {
    /// Whether no text of a value has a secret, keys of mappings included. Most answers have none, and are long: so nothing
    /// is copied here, not even escaped.
    pub(super) fn is_clean<T: Serialize + ?Sized>(&self, value: &T) -> bool {
        value.serialize(Search(self)).is_ok()
    }
}

/// Looks at texts and passes over all else. It fails at the first secret.
#[derive(Clone, Copy)]
struct Search<'r>(&'r Redactor);

type Looked = Result<(), fmt::Error>;

macro_rules! without_text {
    ($($method:ident: $type:ty),* $(,)?) => {
        $(fn $method(self, _value: $type) -> Looked {
            Ok(())
        })*
    };
}

impl Serializer for Search<'_> {
    type Ok = ();
    type Error = fmt::Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    without_text! {
        serialize_bool: bool, serialize_char: char, serialize_bytes: &[u8],
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_f32: f32, serialize_f64: f64, serialize_unit_struct: &'static str,
    }

    fn serialize_str(self, text: &str) -> Looked {
        if self.0.finds(text) { Err(fmt::Error) } else { Ok(()) }
    }

    fn serialize_none(self) -> Looked {
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Looked {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Looked {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, _: &'static str) -> Looked {
        Ok(())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Looked {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Looked {
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, fmt::Error> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, fmt::Error> {
        Ok(self)
    }
}

/// What holds other values: each of them is looked at.
macro_rules! look_inside {
    ($($holder:ident: $($method:ident $(($name:ty))?),+;)*) => {
        $(impl ser::$holder for Search<'_> {
            type Ok = ();
            type Error = fmt::Error;

            $(fn $method<T: Serialize + ?Sized>(&mut self, $(_: $name,)? value: &T) -> Looked {
                value.serialize(*self)
            })+

            fn end(self) -> Looked {
                Ok(())
            }
        })*
    };
}

look_inside! {
    SerializeSeq: serialize_element;
    SerializeTuple: serialize_element;
    SerializeTupleStruct: serialize_field;
    SerializeTupleVariant: serialize_field;
    SerializeMap: serialize_key, serialize_value;
    SerializeStruct: serialize_field(&'static str);
    SerializeStructVariant: serialize_field(&'static str);
}
