"""ExampleListWithContext records: parsing, encoding, and errors that name the record."""
