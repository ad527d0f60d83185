"""Row views as data and as SQL: pure, like the rest of the compiler."""
