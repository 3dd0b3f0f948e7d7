//! Programs lowered under solutions made by hand.
